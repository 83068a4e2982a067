"""Every Python block of the README and of docs/ runs, and prints what stands below its prints."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])


def python_of(page: Path) -> str:
    """The Python blocks of a page, each line at its line number of the page."""
    lines, inside = [], False
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("```"):
            inside = line.rstrip() == "```python"
            lines.append("")
        else:
            lines.append(line if inside else "")
    return "\n".join(lines) + "\n"


def promised(code: str) -> list[str]:
    """The comments that follow a print, or another such comment, at the start of a line."""
    found: list[str] = []
    after_print = False
    for line in code.splitlines():
        if line.startswith("# ") and after_print:
            found.append(line[2:])
        else:
            after_print = line.lstrip().startswith("print(")
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_of_a_page(page: Path, tmp_path: Path) -> None:
    code = python_of(page)
    script = tmp_path / f"{page.stem}.py"
    script.write_text(code, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-X", "utf8", script.name], cwd=tmp_path, capture_output=True, text=True,
        encoding="utf-8", timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, f"{page.name}:\n{done.stderr}"
    printed = done.stdout.splitlines()
    if promised(code):
        assert printed == promised(code)


def test_the_pages_have_python() -> None:
    names = {page.name for page in PAGES}
    assert {"README.md", "other-parsers.md"} <= names
    assert len(promised(python_of(ROOT / "docs" / "other-parsers.md"))) > 10
