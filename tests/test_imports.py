"""Imports go one way between the rooms, and never in a circle between modules.

All imports are read, those under ``TYPE_CHECKING`` and inside functions, too: a circle that is
hidden is a circle.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent

#: Rooms of `bbparse`; a module imports from its own room and from those before it.
ROOMS = (
    "arrays", "renamed", "errors", "options", "deadline", "jit", "storage", "workers", "problem",
    "oracle", "bounding", "search", "highs", "ilp", "pricing", "agreement", "proof", "solving",
    "treebank", "validity", "adapters", "show", "embeddings", "outside", "configuration", "factors",
    "network", "scoring", "tagging", "text", "model", "learning", "torch", "parsing", "phrases",
    "explain", "tuning", "corpus", "serve", "annotate", "cli", "bbparse",
)  # fmt: skip

#: Rooms that know less than the order allows: words are no matter of solvers, and the checker of
#: proofs has nothing in common with what it checks.
ONLY = {
    "treebank": {"errors", "storage", "treebank"},
    "proof.verify": {"errors", "storage", "problem", "proof"},
}

#: Files that have not found their room yet, and the room they are going to.
LOOSE = {
    "__init__": "bbparse",
    "__main__": "bbparse",
}

#: What is still wrong, from room to room. This has to be exactly right: what is mended goes.
KNOWN: set[str] = set()


@cache
def modules() -> dict[str, Path]:
    """Names and files of all modules; a package goes by its name."""
    found = {}
    for folder in ("bbparse", "features"):
        for path in (ROOT / folder).rglob("*.py"):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts).removesuffix(".__init__")] = path
    return found


def imported(module: str) -> Iterator[str]:
    """Modules of the project that a module imports, wherever the import stands."""
    path = modules()[module]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            package = path.relative_to(ROOT).parts[: -node.level] if node.level else ()
            start = ".".join([*package, *([node.module] if node.module else [])])
            names = [f"{start}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            target = name if name in modules() else name.rpartition(".")[0]
            if target in modules() and target != module and name != "bbparse.__version__":
                yield target


def room(module: str) -> str:
    """The room of a module; that of `features` is beside them all."""
    first, _, rest = module.partition(".")
    if first == "features":
        return "features"
    name = rest.partition(".")[0] or "__init__"
    return LOOSE.get(name, name)


def against(module: str, target: str) -> bool:
    """Whether an import goes against the order."""
    here, there = room(module), room(target)
    if here == "features":  # a plug-in like anyone's, which knows what is public for plug-ins
        return there not in ("features", "factors", "errors", "jit", "treebank", "configuration")
    if there == "features":
        return True
    for prefix, allowed in ONLY.items():
        if f"{module}.".startswith(f"bbparse.{prefix}.") and there not in allowed:
            return True
    return ROOMS.index(there) > ROOMS.index(here)


def test_each_module_has_a_room() -> None:
    lost = {m for m in modules() if room(m) not in (*ROOMS, "features")}
    assert not lost, "a new room has its place in ROOMS"


def test_imports_go_one_way() -> None:
    wrong: dict[str, set[str]] = {}
    for module in modules():
        for target in imported(module):
            if against(module, target):
                pair = f"{room(module)} → {room(target)}"
                wrong.setdefault(pair, set()).add(f"{module} imports {target}")
    new = sorted(text for pair in wrong.keys() - KNOWN for text in wrong[pair])
    mended = [f"{pair} is mended: take it out of KNOWN" for pair in sorted(KNOWN - wrong.keys())]
    assert not new + mended, "\n".join(["against the order of ROOMS:", *new, *mended])


def circles() -> list[set[str]]:
    """Modules that import each other, in a circle or several that hang together."""
    reached = {module: {module} for module in modules()}
    graph = {module: set(imported(module)) for module in modules()}
    changed = True
    while changed:
        changed = False
        for module, targets in graph.items():
            more = set().union(*(reached[target] for target in targets)) - reached[module]
            reached[module] |= more
            changed |= bool(more)
    found = ({b for b in reached[a] if a in reached[b]} for a in modules())
    return [circle for circle in found if len(circle) > 1]


def test_no_circle() -> None:
    found = sorted({", ".join(sorted(circle)) for circle in circles()})
    assert not found, "\n".join(["modules that import each other:", *found])
