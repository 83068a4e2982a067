"""Old names of public modules, functions, classes and arguments, which keep working.

Each use of an old name gives one warning, of one line, that names the new one.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import wraps
from importlib import import_module
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def renamed_members(
    module: str, names: Mapping[str, str], new: str | None = None
) -> Callable[[str], Any]:
    """Make the function `__getattr__` of a module whose members, or which itself, has a new name.

    Parameters
    ----------
    module : str
        Name of the module, ``__name__``.
    names : mapping of str to str
        Old name → new name of members.
    new : str, optional
        Name of the module that replaces it; by default it keeps its own.
    """

    def get(name: str) -> Any:
        target = names.get(name, name if new and not name.startswith("_") else "")
        members = import_module(new or module)
        if not target or not hasattr(members, target):
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        _warn(f"{module}.{name}", f"{new or module}.{target}")
        return getattr(members, target)

    return get


def renamed_arguments(**names: str) -> Callable[[F], F]:
    """Make a decorator that accepts keyword arguments under their old names, too.

    Parameters
    ----------
    **names : str
        Old name = new name. To pass both is an error, as it is for any argument passed twice.
    """

    def decorate(function: F) -> F:
        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if not names.keys().isdisjoint(kwargs):
                for old, new in names.items():
                    if old in kwargs:
                        title = function.__qualname__
                        if new in kwargs:
                            raise TypeError(f"{title}() got both {new!r} and its old name {old!r}")
                        _warn(f"{title}({old}=…)", f"{title}({new}=…)")
                        kwargs[new] = kwargs.pop(old)
            return function(*args, **kwargs)

        return call  # type: ignore[return-value]

    return decorate


class RenamedMember:
    """An attribute or method of a class under its old name: ``old = RenamedMember("new")``."""

    def __init__(self, new: str) -> None:
        self.new = new

    def __set_name__(self, owner: type, name: str) -> None:
        self.old = name

    def __get__(self, instance: object, owner: type) -> Any:
        if instance is None:
            return self
        _warn(f"{owner.__name__}.{self.old}", f"{owner.__name__}.{self.new}")
        return getattr(instance, self.new)


def _warn(old: str, new: str) -> None:
    warnings.warn(f"{old} is now called {new}", FutureWarning, stacklevel=3)
