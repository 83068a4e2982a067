"""Files and lists of parameters stay of a size that can be read."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("bbparse", "features", "bench", "tests")
FILES = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]

MOST_LINES, MOST_PARAMETERS = 400, 12


def test_files_are_short() -> None:
    lines = {
        path.relative_to(ROOT).as_posix(): len(path.read_bytes().splitlines()) for path in FILES
    }
    assert len(lines) > 100
    assert not {path for path, count in lines.items() if count > MOST_LINES}


def test_functions_have_few_parameters() -> None:
    found = {}
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                given = node.args
                names = [x.arg for x in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
                count = len([name for name in names if name not in ("self", "cls")])
                if count > MOST_PARAMETERS:
                    found[f"{path.relative_to(ROOT)}: {node.name}"] = count
    assert not found
