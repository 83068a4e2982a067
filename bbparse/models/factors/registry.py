"""Installed factor families, and their import by name.

Families are found through the entry-point group ``bbparse.factors``. A package offers the family
``brackets`` with these lines in its pyproject.toml::

    [project.entry-points."bbparse.factors"]
    brackets = "my_package.my_module:Brackets"
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points

from bbparse.models.factors.family import FactorFamily, naming_errors
from bbparse.models.factors.tree_family import TreeFamily
from bbparse.runtime.errors import FactorError
from bbparse.runtime.options import check_type

GROUP = "bbparse.factors"
_NAME = re.compile(r"[^\s,:=]+")


@dataclass(frozen=True)
class FamilyEntry:
    """An installed family that has not been imported yet."""

    name: str
    #: The distribution that provides it; several, joined by ``and``, if they use the same name.
    package: str
    #: Import paths of the class, ``module:Class``: one, unless several packages use the name.
    targets: tuple[str, ...]

    def load(self) -> FactorFamily:
        """Import and create the family."""
        where = f"factor family {self.name!r} of {self.package}"
        if len(self.targets) > 1:
            raise FactorError(f"{where}: several packages have it: {', '.join(self.targets)}")
        family = _make(_import(self.targets[0], where), where)
        if family.name != self.name:
            raise FactorError(
                f"{where}: the class is named {family.name!r}, expected {self.name!r}"
            )
        return family


def available() -> dict[str, FamilyEntry]:
    """Return the installed families by name, in alphabetical order, without importing them."""
    found: dict[str, dict[str, str]] = {}
    for point in entry_points(group=GROUP):
        package = point.dist.name if point.dist is not None else "an unknown package"
        found.setdefault(point.name, {}).setdefault(point.value, package)
    return {
        name: FamilyEntry(
            name, " and ".join(sorted(set(found[name].values()))), tuple(sorted(found[name]))
        )
        for name in sorted(found)
    }


def load_families(
    families: Iterable[str | type[FactorFamily] | FactorFamily],
    *,
    given: Iterable[type[FactorFamily] | FactorFamily] = (),
    paths: bool = True,
) -> list[FactorFamily]:
    """Create families from installed names, ``module:Class``, classes or objects, in this order.

    `given` ones replace strings that name them. Without `paths`, ``module:Class`` is refused: a
    model file alone must not make Python import code.
    """
    check_type("factors", families, Iterable, "names or families", FactorError)
    stand_ins: dict[str, FactorFamily] = {}
    for known in given:
        family = _make(known, f"factor family {known!r}")
        target = _target(family)
        # The class is found again where its module has another name now: a script's, a package's.
        for text in (family.name, target, target[target.index(":") :]):
            stand_ins[text] = family
    loaded: dict[str, FactorFamily] = {}
    installed = cache(available)  # reads a file of every package that is installed
    for item in families:
        if not isinstance(item, str):
            family = _make(item, f"factor family {item!r}")
        else:
            _, colon, name = item.partition(":")
            known_as = stand_ins.get(item) or stand_ins.get(colon + name)
            family = known_as or _named(item, paths, installed)
        if family.name in loaded:
            raise FactorError(f"factor family {family.name!r} is given twice")
        loaded[family.name] = family
    return list(loaded.values())


def _named(item: str, paths: bool, installed: Callable[[], dict[str, FamilyEntry]]) -> FactorFamily:
    if ":" not in item:
        entries = installed()
        if item not in entries:
            known = ", ".join(entries) or "none"
            raise FactorError(f"no factor family {item!r}; there are: {known}")
        return entries[item].load()
    if not paths:
        raise FactorError(
            f"the model uses the factor family {item}, code that no installed package provides:"
            f" allow it with --factors {item}, in Python with factors=[{item!r}] or the class"
        )
    where = f"factor family {item!r}"
    with _current_directory_last():
        return _make(_import(item, where), where)


def specification(family: FactorFamily) -> str:
    """Return the string that names a family: its installed name or ``module:Class``."""
    target = _target(family)
    entry = available().get(family.name)
    return family.name if entry is not None and entry.targets == (target,) else target


def _target(family: FactorFamily) -> str:
    return f"{type(family).__module__}:{type(family).__qualname__}"


def _import(target: str, where: str) -> object:
    module, _, attribute = target.partition(":")
    with naming_errors(f"{where}: cannot import {target}"):
        found: object = import_module(module)
        for name in attribute.split("."):
            found = getattr(found, name)
        return found


@contextmanager
def _current_directory_last() -> Iterator[None]:
    """Let modules of the current directory be found; last, so that none hides an installed one."""
    directory = os.getcwd()
    if directory in sys.path or "" in sys.path:
        yield
        return
    sys.path.append(directory)
    try:
        yield
    finally:
        sys.path.remove(directory)


def _make(item: object, where: str) -> FactorFamily:
    if isinstance(item, type) and issubclass(item, FactorFamily):
        with naming_errors(f"{where}: cannot be created"):
            item = item()
    if not isinstance(item, FactorFamily):
        raise FactorError(f"{where}: expected a class derived from FactorFamily, found {item!r}")
    if not _NAME.fullmatch(item.name):
        raise FactorError(
            f"{where}: expected a name without spaces, commas, colons and equals signs, "
            f"found {item.name!r}"
        )
    return item


def tree_families(
    families: Iterable[FactorFamily], extra: str | type[FactorFamily] | FactorFamily | None
) -> tuple[TreeFamily, ...]:
    """Return the tree families among some families, and an extra one."""
    own = tuple(family for family in families if isinstance(family, TreeFamily))
    if extra is None:
        return own
    *_, family = load_families([*own, extra])
    if not isinstance(family, TreeFamily):
        raise FactorError(f"tree_score is the family {family.name!r}, expected a TreeFamily")
    return *own, family
