"""Finds a configuration by its name or its path."""

from __future__ import annotations

from pathlib import Path

from bbparse.errors import ConfigError

_PACKAGE = Path(__file__).resolve().parents[1]
# Inside the package once installed, beside it in a checkout.
_FOLDERS = (_PACKAGE / "configs", _PACKAGE.parent / "configs")


def _shipped() -> dict[str, Path]:
    for folder in _FOLDERS:
        found = {path.stem: path for path in sorted(folder.glob("*.toml"))}
        if found:
            return found
    return {}


def configuration_names() -> list[str]:
    """Names of the configurations that come with the package, sorted."""
    return list(_shipped())


def configuration_path(name_or_path: str | Path) -> Path:
    """Path of a configuration file.

    Parameters
    ----------
    name_or_path : str or Path
        A path to a TOML file, or the name of a configuration that comes with the package, such as
        ``english`` or ``configs/english.toml``. An existing file comes first.

    Raises
    ------
    ConfigError
        If there is neither such a file nor such a name; says which names there are.
    """
    path = Path(name_or_path)
    if path.is_file():
        return path
    shipped = _shipped()
    text = path.as_posix()
    name = text.removeprefix("configs/").removesuffix(".toml")
    if name in shipped:
        return shipped[name]
    raise ConfigError(
        f"no configuration {str(name_or_path)!r}: there is no such file, "
        f"and the names are {', '.join(shipped) or '(none)'}"
    )
