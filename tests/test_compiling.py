"""What the first run compiles ahead: known by its cache, and no harm where it fails."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from bbparse import compiling
from bbparse.compiling import is_compiled, load_compiled
from bbparse.parser import Parser
from bbparse.search.root import solve_root
from bbparse.treebank import Sentence


def test_a_kernel_is_compiled_once_its_code_is_in_the_cache(tmp_path: Path) -> None:
    (tmp_path / "double.py").write_text(
        textwrap.dedent(
            """
            import os, sys
            from numba import njit
            from bbparse.compiling import is_compiled

            @njit(cache=True)
            def double(x):
                return 2 * x

            print(is_compiled(double))
            double(2)
            print(is_compiled(double))
            """
        )
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, "-c", "import double"]

    def answers() -> list[str]:
        ran = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        )
        return ran.stdout.split()

    assert answers() == ["False", "True"]
    assert answers() == ["True", "True"]
    os.utime(tmp_path / "double.py", (4e9, 4e9))  # the source was changed since
    assert answers()[0] == "False"


def test_the_other_process_compiles_what_solves() -> None:
    compiling.compile_solving()
    assert solve_root.signatures and is_compiled(solve_root)
    subprocess.run([sys.executable, "-m", "bbparse.compiling"], check=True)


@pytest.mark.parametrize("executable", ["", os.devnull])
def test_a_parser_loads_where_no_other_process_can_be_started(
    monkeypatch: pytest.MonkeyPatch, executable: str
) -> None:
    monkeypatch.setattr(compiling, "is_compiled", lambda kernel: False)
    monkeypatch.setattr(sys, "executable", executable)
    parser = load_compiled("english")
    sentence = Sentence.from_words(["It", "works"], upos=["PRON", "VERB"])
    expected = Parser.load("english").parse(sentence)
    assert parser.parse(sentence) == expected
