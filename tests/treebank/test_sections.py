"""Sections of files: the same sentences, numbers and errors as reading the file as a whole."""

from __future__ import annotations

import io
import lzma
import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbparse.runtime.errors import TreebankError
from bbparse.treebank import Sentence, read_conllu, sections
from bbparse.treebank.sections import cut_conllu, cut_sentences
from tests.treebank.test_conllu import DATA, SMALL, row

#: Blocks of a file: good ones, and every kind of bad one.
BLOCKS = [
    SMALL,
    row("1", "A", "0", "root"),
    "# text = odd\n" + row("1", "ä\x85\u2028", "0", "root"),
    "# only a comment",
    "1\tA",
    row("2", "A"),
    row("1", "A", "7", "x"),
    row("1", "A") + "\nthree columns only",
    "\udcff",
]
BREAKS = ["\n\n", "\n\n\n\n", "\n \t\n", "\n\x0b\n"]


class Trickle(io.BytesIO):
    """A stream that gives a few bytes at a time, as a pipe may."""

    def read1(self, size: int | None = -1) -> bytes:
        return super().read1(7)


def found(sentences: Iterator[Sentence]) -> tuple[list[Sentence], str]:
    """The sentences up to an error, and what it says."""
    good: list[Sentence] = []
    try:
        good.extend(sentences)  # keeps those before an error
    except TreebankError as error:
        return good, str(error)
    return good, ""


def by_sections(source: io.BytesIO | Path) -> Iterator[Sentence]:
    for section in cut_conllu(source):
        assert section is not None, "only the standard input is waited for"
        assert pickle.loads(pickle.dumps(section)) == section
        count = 0
        for sentence in section.sentences():
            count += 1
            yield sentence
        assert count == section.n_sentences


@given(
    st.lists(st.tuples(st.sampled_from(BLOCKS), st.sampled_from(BREAKS)), max_size=8),
    st.sampled_from(["", "\n", "\n\n", "\ufeff", " \n"]),
    st.sampled_from(["", "\n", "\r\n", "no line feed"]),
    st.booleans(),
    st.sampled_from([1, 4, 500]),
)
def test_any_file(
    blocks: list[tuple[str, str]], start: str, end: str, crlf: bool, words: int
) -> None:
    text = start + "".join(block + blank for block, blank in blocks) + end
    if crlf:
        text = text.replace("\n", "\r\n")
    raw = text.encode("utf-8", "surrogateescape")
    expected = found(read_conllu(io.BytesIO(raw)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sections, "SECTION_WORDS", words)
        for stream in (io.BytesIO(raw), Trickle(raw)):
            assert found(by_sections(stream)) == expected
        if text.strip("\ufeff \r\n"):
            assert b"".join(s.raw for s in cut_conllu(Trickle(raw)) if s) == raw


def test_sections_are_full_but_not_too_full(monkeypatch: pytest.MonkeyPatch) -> None:
    path = DATA / "small-train.conllu"
    sentences = list(read_conllu(path))
    monkeypatch.setattr(sections, "SECTION_WORDS", 50)
    raw = path.read_bytes()
    assert list(by_sections(io.BytesIO(raw))) == list(read_conllu(io.BytesIO(raw)))
    rows = [sum(line[0] != "#" for line in sentence.lines) for sentence in sentences]
    start = 0
    for section in cut_conllu(path):
        assert section is not None and section[0].number == start + 1
        end = start + section.n_sentences
        assert sum(rows[start:end]) <= 50 or end == start + 1
        assert end == len(rows) or sum(rows[start : end + 1]) > 50
        start = end
    assert start == len(sentences)


def test_sentences_in_sections(monkeypatch: pytest.MonkeyPatch) -> None:
    sentences = list(read_conllu(DATA / "small-dev.conllu"))
    monkeypatch.setattr(sections, "SECTION_WORDS", 30)

    def some() -> Iterator[Sentence | None]:
        yield from sentences[:3]
        yield None
        yield from sentences[3:5]
        raise TreebankError("no more")

    cut = []
    with pytest.raises(TreebankError, match="no more"):
        for section in cut_sentences(some()):
            cut.append(section)
    assert [section and section.n_sentences for section in cut] == [3, None, 2]
    read = [s for section in cut if section for s in section.sentences()]
    assert [s.lines for s in read] == [s.lines for s in sentences[:5]]
    assert [s.number for s in read] == [1, 2, 3, 4, 5]
    assert [s.line_number for s in read] == [s.line_number for s in sentences[:5]]


def test_what_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(TreebankError, match="cannot be read: No such file"):
        list(cut_conllu(tmp_path / "none"))
    packed = tmp_path / "short.conllu.xz"
    packed.write_bytes(lzma.compress((SMALL + "\n\n").encode() * 2000)[:-30])
    expected = found(read_conllu(packed))
    assert "cannot be read" in expected[1]
    sentences, error = found(by_sections(packed))
    assert error == expected[1] and sentences[: len(expected[0])] == expected[0]
