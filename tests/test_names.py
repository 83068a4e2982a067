"""Files and modules that texts name exist."""

from __future__ import annotations

import pkgutil
import re
from importlib.util import find_spec
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


def exists(dotted: str) -> bool:
    """Whether a module or its member has this name; of `bbparse.torch`, only with PyTorch."""
    try:
        pkgutil.resolve_name(dotted)
    except (ImportError, AttributeError):
        return dotted.startswith("bbparse.torch") and find_spec("torch") is None
    return True


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
