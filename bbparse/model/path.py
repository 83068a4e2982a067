"""Finds a model by its path, or by its name among those that come with the package."""

from __future__ import annotations

import os
from pathlib import Path

from bbparse.errors import ModelError

#: What is loaded where no model is named.
DEFAULT_MODEL = "english"

_FOLDER = Path(__file__).resolve().parents[1] / "models"


def model_names() -> list[str]:
    """Names of the models that come with the package, sorted."""
    return sorted(path.stem for path in _FOLDER.glob("*.model"))


def model_path(name_or_path: str | os.PathLike[str]) -> Path:
    """Path of a model file.

    Parameters
    ----------
    name_or_path : str or path
        A path to a model, or the name of one that comes with the package, such as ``english``. An
        existing file comes first.

    Raises
    ------
    ModelError
        If there is neither such a file nor such a name; says which names there are.
    """
    path = Path(name_or_path)
    if path.exists():
        return path
    names = model_names()
    if str(name_or_path) in names:
        return _FOLDER / f"{name_or_path}.model"
    raise ModelError(
        f"{os.fspath(name_or_path)}: no such file, nor the name of a model that comes with bbparse"
        f" ({', '.join(names)})"
    )
