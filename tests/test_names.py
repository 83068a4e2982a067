"""Files and modules that texts name exist."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent

FOLDERS = ("bbparse", "features", "configs", "docs", "tests", "bench", ".ci")
#: What a file that is named looks like, and a module of ours with what is in it.
FILE = re.compile(rf"(?<![\w./-])(?:{'|'.join(map(re.escape, FOLDERS))})(?:/[\w.-]+)*/[\w-]+\.\w+")
DOTTED = re.compile(r"(?<=`)bbparse(?:\.[A-Za-z_]\w*)+(?=[`(])")
LINK = re.compile(r"\]\(([\w./-]+\.\w+)(?:#[\w-]+)?\)")
#: Files that runs make, and an example; names of entry points.
MADE = re.compile(r"bench/results/.*|docs/_build/.*|bbparse/apps/cli/NAME.py")
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
