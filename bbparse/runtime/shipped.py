"""Files that ship with the package, or with others for it, and are found by name."""

from __future__ import annotations

import os
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from bbparse.runtime.errors import BBParseError

_PACKAGE = Path(__file__).resolve().parents[1]


class Shipped(NamedTuple):
    """Files of one kind, in a folder of the package or beside it in a checkout.

    Other distributions add files by entry points: ``dutch = "bbparse_dutch"`` in the group says
    that ``dutch`` is a file in the folder of that package, which is not imported.
    """

    kind: str
    folder: str
    ending: str
    #: Class of the error if there is neither a file nor a name.
    error: type[BBParseError]
    #: Group of the entry points; empty for none.
    group: str = ""

    def _files(self) -> dict[str, Path]:
        for parent in (_PACKAGE, _PACKAGE.parent):
            paths = sorted((parent / self.folder).glob(f"*{self.ending}"))
            if paths:
                return {path.stem: path for path in paths}
        return {}

    def _added(self) -> dict[str, Path]:
        """Return the files of other distributions; those in the folder `models` of a checkout."""
        if not self.group:
            return {}
        paths = {p.stem: p for p in _PACKAGE.parent.glob(f"models/*/bbparse_*/*{self.ending}")}
        for entry in entry_points(group=self.group):
            spec = find_spec(entry.module.partition(".")[0])
            for folder in (spec and spec.submodule_search_locations) or ():
                path = Path(folder) / f"{entry.name}{self.ending}"
                if path.is_file():
                    paths[entry.name] = path
        return dict(sorted(paths.items()))

    def files(self) -> dict[str, Path]:
        """Return all files by name: those of the package, then those of other distributions."""
        own = self._files()
        return own | {name: path for name, path in self._added().items() if name not in own}

    def names(self) -> list[str]:
        """Return the names of all files: those of the package, then others, each sorted."""
        return list(self.files())

    def path(self, name_or_path: str | os.PathLike[str]) -> Path:
        """Return the path of a file, given as a path, which comes first, or as a name."""
        if not isinstance(name_or_path, str | os.PathLike):
            raise self.error(
                f"{self.kind} is {name_or_path!r:.60}, expected a path or one of"
                f" {', '.join(self.names())}"
            )
        path = Path(name_or_path)
        name = path.as_posix().removeprefix(f"{self.folder}/").removesuffix(self.ending)
        if path.exists():
            return path
        files = self._files()
        if name not in files:
            files = self.files()  # looking through all distributions takes longer
        if name not in files:
            raise self.error(
                f"{os.fspath(name_or_path)}: no such file, nor the name of a {self.kind} that is"
                f" installed ({', '.join(files)})"
            )
        return files[name]
