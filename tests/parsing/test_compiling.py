"""What the first run compiles ahead: known by its cache, and no harm where it fails."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from bbparse.parsing import compiling
from bbparse.parsing.compiling import is_compiled, load_compiled
from bbparse.parsing.parser import Parser
from bbparse.solving.root import call_projective
from bbparse.treebank import Sentence


def test_the_other_process_compiles_what_solves() -> None:
    compiling.compile_solving()
    assert call_projective.signatures and is_compiled(call_projective)
    subprocess.run([sys.executable, "-m", "bbparse.parsing.compiling"], check=True)


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
