"""The house: which room imports which, names of files in texts, and sizes of files."""

from __future__ import annotations

import ast
import re
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


FOLDERS = ("bbparse", "features", "configs", "docs", "tests", "bench", ".ci")
#: What a file that is named looks like, and a module of ours with what is in it.
FILE = re.compile(rf"(?<![\w./-])(?:{'|'.join(map(re.escape, FOLDERS))})(?:/[\w.-]+)*/[\w-]+\.\w+")
DOTTED = re.compile(r"(?<=`)bbparse(?:\.[A-Za-z_]\w*)+(?=[`(])")
LINK = re.compile(r"\]\(([\w./-]+\.\w+)(?:#[\w-]+)?\)")
#: Files that runs make, and an example; names of entry points.
MADE = re.compile(r"bench/results/.*|docs/_build/.*|bbparse/cli/NAME.py")
OTHERS = frozenset({"bbparse.rules", "bbparse.Tokenizer.v1"})


def texts() -> list[tuple[Path, int, str]]:
    """Lines of what names files: the changelog aside, which tells of what was."""
    found = []
    for pattern in ("*", *(f"{folder}/**/*" for folder in FOLDERS)):
        for path in sorted(ROOT.glob(pattern)):
            kept = path.suffix in (".md", ".py", ".toml") or path.name in ("Makefile", "run")
            if kept and path.is_file() and path.name != "CHANGELOG.md":
                lines = path.read_text(encoding="utf-8").splitlines()
                found += [(path, number, line) for number, line in enumerate(lines, start=1)]
    return found


@cache
def names_of(path: Path) -> frozenset[str]:
    """Names in a module: classes, functions, variables and imports, and those in its classes."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.Name | ast.Attribute):
            found.add(node.id if isinstance(node, ast.Name) else node.attr)
        elif isinstance(node, ast.alias):
            found.add((node.asname or node.name).rpartition(".")[2])
    return frozenset(found)


def exists(dotted: str) -> bool:
    """Whether a module, or something in it, has this name."""
    at, rest = ROOT, dotted.split(".")
    while rest and (at / rest[0]).is_dir():
        at /= rest.pop(0)
    if rest and (at / f"{rest[0]}.py").is_file():
        at /= f"{rest.pop(0)}.py"
    else:
        at /= "__init__.py"
    return not rest or (at.is_file() and set(rest) <= names_of(at))


def test_files_that_are_named_exist() -> None:
    wrong = []
    for path, number, line in texts():
        names = [(name, ROOT / name) for name in FILE.findall(line)]
        if path.suffix == ".md":
            names += [(name, path.parent / name) for name in LINK.findall(line)]
        wrong += [
            f"{path.relative_to(ROOT)}:{number}: {name}"
            for name, file in names
            if not file.exists() and not MADE.fullmatch(name)
        ]
    assert not wrong, "no such file:\n" + "\n".join(wrong)


def test_modules_that_are_named_exist() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{number}: {name}"
        for path, number, line in texts()
        for name in DOTTED.findall(line)
        if name not in OTHERS and not exists(name)
    ]
    assert not wrong, "no such module, or nothing of that name in it:\n" + "\n".join(wrong)


CODE = [
    path
    for folder in ("bbparse", "features", "bench", "tests")
    for path in sorted(ROOT.glob(f"{folder}/**/*.py"))
]
MOST_LINES, MOST_PARAMETERS = 400, 12


def test_files_are_short() -> None:
    assert len(CODE) > 100
    assert not [path for path in CODE if len(path.read_bytes().splitlines()) > MOST_LINES]


def test_functions_have_few_parameters() -> None:
    found = {}
    for path in CODE:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                given = node.args
                names = [x.arg for x in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
                count = len([name for name in names if name not in ("self", "cls")])
                if count > MOST_PARAMETERS:
                    found[f"{path.relative_to(ROOT)}: {node.name}"] = count
    assert not found
