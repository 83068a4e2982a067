"""Files that ship with the package and are found by name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from bbparse.runtime.errors import BBParseError

_PACKAGE = Path(__file__).resolve().parents[1]


class Shipped(NamedTuple):
    """Files of one kind, in a folder of the package or beside it in a checkout."""

    kind: str
    folder: str
    ending: str
    #: Class of the error if there is neither a file nor a name.
    error: type[BBParseError]

    def _files(self) -> dict[str, Path]:
        for parent in (_PACKAGE, _PACKAGE.parent):
            paths = sorted((parent / self.folder).glob(f"*{self.ending}"))
            if paths:
                return {path.stem: path for path in paths}
        return {}

    def names(self) -> list[str]:
        """Return the names of the files that ship with the package, sorted."""
        return list(self._files())

    def path(self, name_or_path: str | os.PathLike[str]) -> Path:
        """Return the path of a file, given as a path, which comes first, or as a name."""
        if not isinstance(name_or_path, str | os.PathLike):
            raise self.error(
                f"{self.kind} is {name_or_path!r:.60}, expected a path or one of"
                f" {', '.join(self.names())}"
            )
        path, files = Path(name_or_path), self._files()
        name = path.as_posix().removeprefix(f"{self.folder}/").removesuffix(self.ending)
        if path.exists():
            return path
        if name not in files:
            raise self.error(
                f"{os.fspath(name_or_path)}: no such file, nor the name of a {self.kind} that comes"
                f" with bbparse ({', '.join(files)})"
            )
        return files[name]
