"""The code of the README and of docs/ runs, and Python prints what stands below its prints.

Blocks of a page run in their order, in one folder, which holds a small treebank as train.conllu and
dev.conllu. Blocks marked ``python`` share one interpreter; each block marked ``sh`` is a script of
its own, which fails with the first command that fails. What installs the package is marked
``text``: .ci/run does that.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])

# In front of the first line of a page, so that its lines keep their numbers.
PRELUDE = "import subprocess as _p; "


def blocks_of(page: Path) -> list[tuple[int, str, list[str]]]:
    """Line number, language and lines of each fenced block."""
    found: list[tuple[int, str, list[str]]] = []
    inside = False
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
        if line.startswith("```"):
            inside = not inside
            if inside:
                found.append((number + 1, line[3:].strip(), []))
        elif inside:
            found[-1][2].append(line)
    return found


def python_of(page: Path) -> str:
    """What a page does as one program, each block at its line numbers; shell blocks are calls."""
    lines: list[str] = []
    for number, language, block in blocks_of(page):
        if language == "python":
            lines += [""] * (number - 1 - len(lines)) + block
        elif language == "sh":
            command = ["bash", "-euo", "pipefail", "-c", "\n".join(block)]
            call = f"_p.run({command!r}, check=True, stdout=2)"
            lines += [""] * (number - 1 - len(lines)) + [call]
    return "\n".join(lines) + "\n"


def promised(page: Path) -> list[str]:
    """The comments that follow a print, or another such comment, at the start of a line."""
    found: list[str] = []
    for _, language, block in blocks_of(page):
        after_print = False
        for line in block if language == "python" else []:
            if line.startswith("# ") and after_print:
                found.append(line[2:])
            else:
                after_print = line.lstrip().startswith("print(")
    return found


@pytest.fixture(scope="module")
def programs() -> Iterator[Path]:
    """A folder with ``python`` and ``bbparse``: see `tests.forked`, where processes can fork."""
    if not hasattr(os, "fork"):
        yield Path(sys.executable).parent
        return
    # not pytest's own, whose path may be too long for the name of a socket
    with TemporaryDirectory(prefix="bbparse-") as folder:
        command = [sys.executable, "-X", "utf8", str(ROOT / "tests" / "forked.py"), folder]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment()
        ) as server:  # the end of this block ends its standard input, and the server
            assert server.stdout is not None and server.stdout.readline() == "ready\n"
            yield Path(folder)
            assert server.stdin is not None
            server.stdin.close()


def environment(*folders: Path) -> dict[str, str]:
    """That of this process, with folders of programs, and this checkout to import."""
    path = [*map(str, folders), str(Path(sys.executable).parent), os.environ.get("PATH", "")]
    python_path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return {
        **os.environ, "PATH": os.pathsep.join(path), "PYTHONPATH": python_path, "PYTHONUTF8": "1"
    }  # fmt: skip


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page(page: Path, programs: Path, tmp_path: Path) -> None:
    if not any(language in ("python", "sh") for _, language, _ in blocks_of(page)):
        return
    for part in ("train", "dev"):
        shutil.copy(ROOT / "tests" / "data" / f"small-{part}.conllu", tmp_path / f"{part}.conllu")
    script = tmp_path / f"{page.stem}.py"
    script.write_text(PRELUDE + python_of(page), encoding="utf-8")
    # Shell output does not count: only what Python prints is promised.
    done = subprocess.run(
        [str(programs / "python"), script.name], cwd=tmp_path, capture_output=True, text=True,
        encoding="utf-8", timeout=900, env=environment(programs),
    )  # fmt: skip
    assert done.returncode == 0, f"{page.name}:\n{done.stderr}"
    if promised(page):
        assert done.stdout.splitlines() == promised(page)


def test_the_pages_have_code() -> None:
    names = {page.name for page in PAGES}
    assert {"README.md", "other-parsers.md", "constraints.md", "training.md"} <= names
    assert len(promised(ROOT / "docs" / "other-parsers.md")) > 10
    known = {"python", "sh", "text", "toml", "{toctree}", "{eval-rst}"}
    for page in PAGES:
        for number, language, _ in blocks_of(page):
            assert language in known, f"{page.name}, line {number}: a block marked {language!r}"


def test_the_readme_is_for_a_newcomer() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(readme.splitlines()) <= 150
    targets = re.findall(r"^make (\w+)", readme, re.MULTILINE)
    assert targets == ["parse", "test"]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    checks = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    for target in targets:
        assert f"\n{target}: " in makefile
        assert f" make {target} " in checks
