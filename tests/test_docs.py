"""The code of the README and of docs/ runs, and prints what the pages say.

Blocks of a page run in their order, in one folder, which holds a small treebank as train.conllu and
dev.conllu. Blocks marked ``python`` share one interpreter; each block marked ``sh`` is a script of
its own, which fails with the first command that fails. What installs the package is marked
``text``: .ci/run does that.

What Python prints stands in comments below its prints, what a command prints in a block marked
``output`` after its own; ``make parse TEXT=…`` is run as the Makefile does it. All of it is
compared, scores included: numbers of four decimals and more may differ in their last digits, as
sums do between processors. ``…`` stands for any text, and alone on a line for any lines.
"""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from bbparse.apps.cli.main import COMMANDS, cli
from bbparse.models.configuration import Configuration

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])

#: Pages that print scores of models they train; others train small networks (`tests/small`).
TRAINED = ("tutorial.md", "evaluate.md")

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
    blocks = blocks_of(page)
    for (number, language, block), (_, following, _) in zip(blocks, [*blocks[1:], (0, "", [])]):
        if language == "python":
            lines += [""] * (number - 1 - len(lines)) + block
        elif script := script_of(language, block, shown=following == "output"):
            command = ["bash", "-euo", "pipefail", "-c", script]
            call = f"_p.run({command!r}, check=True, stdout=2)"
            if following == "output":
                call = f"print(_p.run({command!r}, check=True, stdout=-1, encoding='utf-8').stdout)"
            lines += [""] * (number - 1 - len(lines)) + [call]
    return "\n".join(lines) + "\n"


def script_of(language: str, block: list[str], *, shown: bool) -> str:
    """The script of a block of commands; empty if none is to be run."""
    if language == "sh":
        return "\n".join(block)
    text = re.search(r"^make parse TEXT=(.*)$", "\n".join(block), re.MULTILINE)
    if not shown or text is None:
        return ""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    recipe = re.search(r"^parse:.*\n\t@(.*)$", makefile, re.MULTILINE)
    assert recipe is not None
    return f"TEXT={text[1]}; " + recipe[1].replace("$$", "$").replace("$(BIN)/", "")


def promised(page: Path) -> list[str]:
    """The comments that follow a print, or another such comment, at the start of a line; and the
    lines of blocks of output."""
    found: list[str] = []
    for _, language, block in blocks_of(page):
        after_print = False
        for line in block if language == "python" else []:
            if line.startswith("# ") and after_print:
                found.append(line[2:])
            else:
                after_print = line.lstrip().startswith("print(")
        found += block if language == "output" else []
    return found


_NUMBER = re.compile(r"(-?\d+\.\d{4,})")


def same_line(expected: str, printed: str) -> bool:
    """Whether a line is the one expected, but for … and the last digits of numbers."""
    if "…" in expected:
        pattern = ".*".join(map(re.escape, expected.split("…")))
        return re.fullmatch(pattern, printed) is not None
    ours, theirs = _NUMBER.split(expected), _NUMBER.split(printed)
    return ours[::2] == theirs[::2] and all(
        float(a) == pytest.approx(float(b), rel=1e-5) for a, b in zip(ours[1::2], theirs[1::2])
    )


def check_printed(expected: list[str], printed: list[str]) -> None:
    """Compare lines, empty ones aside; … alone on a line is for any lines."""
    waiting = [line for line in printed if line.strip()]
    skipping = False
    for line in expected:
        if line.strip() in ("", "…"):
            skipping |= line.strip() == "…"
            continue
        while skipping and waiting and not same_line(line, waiting[0]):
            waiting.pop(0)
        assert waiting, f"expected {line!r}, and nothing more was printed"
        assert same_line(line, waiting[0]), f"expected {line!r}, printed {waiting[0]!r}"
        waiting.pop(0)
        skipping = False
    assert skipping or not waiting, f"printed, and not on the page: {waiting[0]!r}"


def environment(page: Path) -> dict[str, str]:
    """That of this process, with this checkout to import, and small networks to train."""
    path = [str(Path(sys.executable).parent), os.environ.get("PATH", "")]
    small = [] if page.name in TRAINED else [str(ROOT / "tests" / "small")]
    python_path = [*small, str(ROOT), os.environ.get("PYTHONPATH", "")]
    return {
        **os.environ,
        "PATH": os.pathsep.join(path),
        "PYTHONUTF8": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, python_path)),
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_page(page: Path, tmp_path: Path) -> None:
    if not any(language in ("python", "sh") for _, language, _ in blocks_of(page)):
        return
    if "bbparse.torch" in page.read_text(encoding="utf-8"):
        pytest.importorskip("torch")
    for part in ("train", "dev"):
        shutil.copy(ROOT / "tests" / "data" / f"small-{part}.conllu", tmp_path / f"{part}.conllu")
    script = tmp_path / f"{page.stem}.py"
    script.write_text(PRELUDE + python_of(page), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, script.name],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=900,
        env=environment(page),
    )
    assert done.returncode == 0, f"{page.name}:\n{done.stderr}"
    if expected := promised(page):
        check_printed(expected, done.stdout.splitlines())


def test_the_pages_have_code() -> None:
    names = {page.name for page in PAGES}
    assert {"README.md", "other-parsers.md", "constraints.md", "training.md"} <= names
    assert len(promised(ROOT / "docs" / "howto" / "other-parsers.md")) > 10
    known = {"python", "sh", "output", "text", "toml", "{toctree}", "{eval-rst}"}
    for page in PAGES:
        for number, language, block in blocks_of(page):
            assert language in known, f"{page.name}, line {number}: a block marked {language!r}"
            # a tree that is printed would be compared with nothing
            drawn = language == "text" and any("►" in line for line in block)
            assert not drawn, f"{page.name}, line {number}: a tree in a block of text, not output"


def test_the_readme_is_for_a_newcomer() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(readme.splitlines()) <= 130
    targets = re.findall(r"^make (\w+)", readme, re.MULTILINE)
    assert targets == ["parse", "test"]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    checks = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    for target in targets:
        assert f"\n{target}: " in makefile
        assert f" make {target} " in checks


def commands_of(page: Path) -> list[str]:
    """Commands of bbparse on a page, whether it runs them or not: in blocks, and between `…`."""
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    blocks = [body for _, body in re.findall(r"^```(\w*)\n(.*?)^```", text, re.M | re.S)]
    lines = [line.partition("  #")[0] for body in blocks for line in body.splitlines()]
    prose = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    lines += re.findall(r"`(bbparse [^`]*)`", prose.replace("\n", " "))
    pieces = [part.strip() for line in lines for part in re.split(r"\||&&|\$\(|;|>", line)]
    return [part for part in pieces if part.startswith("bbparse ")]


def test_commands_that_pages_name_exist() -> None:
    context = click.Context(cli)
    seen = set()
    for page in PAGES:
        for line in commands_of(page):
            words = [word.strip("\"',.)") for word in line.split()[1:]]
            if words[0].startswith("-") or words[0] in ("COMMAND", "COMMAND`"):
                continue
            command = cli.get_command(context, words[0])
            assert command is not None, f"{page.name}: {line}"
            known = {name for option in command.params for name in option.opts}
            known |= {name for option in command.params for name in option.secondary_opts}
            for word in words[1:]:
                if re.fullmatch(r"-[a-z]|--[a-z][\w-]*", word):
                    assert word in known | {"--help", "-h"}, f"{page.name}: {word} in {line}"
                    seen.add((words[0], word))
    assert len(seen) > 40


def test_the_reference_has_all_commands_and_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs")
    monkeypatch.delitem(sys.modules, "conf", raising=False)
    conf = importlib.import_module("conf")
    pages = {
        name: conf.filled((ROOT / "docs" / "reference" / f"{name}.md").read_text(encoding="utf-8"))
        for name in ("command-line", "configuration")
    }
    for name in COMMANDS:
        assert f"\n### {name}\n\n```text\nUsage: bbparse {name} " in pages["command-line"]
        assert re.search(rf"^\| .*`{name}`.* \|", pages["command-line"], re.MULTILINE), name
    for name, table in Configuration.load("english").to_table().items():
        for key in table if name != "templates" else ():
            if key != "templates":
                _, _, section = pages["configuration"].partition(f"\n### [{name}]\n")
                assert f"`{key}`" in section.partition("\n#")[0], f"{name}.{key}"
    assert "<!--" not in pages["command-line"] + pages["configuration"]
