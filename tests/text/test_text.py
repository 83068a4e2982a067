"""Running text: words, sentences, and where they stand."""

from __future__ import annotations

import gzip
import io
import lzma
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbparse.apps.corpus.files import read_sentences
from bbparse.runtime.errors import TreebankError
from bbparse.text.segmentation import Split, is_blank, sentences_of_text, stream_text
from bbparse.treebank import Sentence, format_sentence, read_conllu
from tests import toy


def cut(text: str, split: Split = "text") -> list[Sentence]:
    return list(sentences_of_text(text, toy.tokenizer(), split=split))


def read_text(source: Path | io.StringIO) -> list[Sentence]:
    return [s for s in stream_text(source, toy.tokenizer()) if s is not None]


def forms(text: str) -> list[str]:
    return [form for sentence in cut(text) for form in sentence.forms]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("I don't know.", "I do n't know ."),
        ("It's Kim's, isn't it?", "It 's Kim 's , is n't it ?"),
        ("They’ve said she’ll go", "They ’ve said she ’ll go"),
        ("You cannot, dont and wanna", "You can not , do nt and wan na"),
        ("my parents' house", "my parents ' house"),
        ("e-mail and non-native but long-term", "e-mail and non-native but long - term"),
        ("Dr. Smith of the U.S. and Acme Inc. said", "Dr. Smith of the U.S. and Acme Inc. said"),
        ("See http://a.org/b-c?d=1, or me@b-c.com.", "See http://a.org/b-c?d=1 , or me@b-c.com ."),
        ("Wow!!! Really?! Well...", "Wow !!! Really ?! Well ..."),
        ("$5,000.50 (10%) :-)", "$ 5,000.50 ( 10 % ) :-)"),
        ("my iPhone, McDonald's and O'Neill", "my iPhone , McDonald 's and O'Neill"),
        ("and/or on 9/11", "and / or on 9/11"),
        ("C++, (C#) and g++. F#", "C++ , ( C# ) and g++ . F#"),
        ("node.js, main.py or a.tar.gz.", "node.js , main.py or a.tar.gz ."),
        ("See http://a.com/x.html?y=1 now", "See http://a.com/x.html?y=1 now"),
        ("e.g. this", "e.g. this"),
        ("i.e., that", "i.e. , that"),
        ("A++ tele#84 job#", "A ++ tele # 84 job #"),
        ("שלום עולם, مرحبا안녕하세요! Привет", "שלום עולם , مرحبا안녕하세요 ! Привет"),
        ("Come at five o'clock 😀.", "Come at five o'clock 😀 ."),
        ("She got her Ph.D. in the govern\u00adment", "She got her Ph.D. in the govern\u00adment"),
        ("Ph.D., .NET, o'clock 😀. co\u00adop", "Ph.D. , .NET , o'clock 😀 . co\u00adop"),
    ],
)
def test_words(text: str, words: str) -> None:
    assert forms(text) == words.split()


def test_sentences_and_paragraphs() -> None:
    text = "Mr. Kim left at 5 p.m. on Monday. She\nstayed!\n\nA title\n \n'Yes,' he said. No."
    sentences = cut(text)
    assert [s.lines[s.lines.index(f"# sent_id = {i}") + 1] for i, s in enumerate(sentences, 1)] == [
        "# text = Mr. Kim left at 5 p.m. on Monday.",
        "# text = She stayed!",
        "# text = A title",
        "# text = 'Yes,' he said.",
        "# text = No.",
    ]
    assert [s.lines[0] == "# newpar" for s in sentences] == [True, False, True, True, False]
    assert [s.number for s in sentences] == [1, 2, 3, 4, 5]


def ranges(sentence: Sentence) -> list[tuple[str, int, int]]:
    """Form, start and end of each token that has an id of its own or of a range."""
    found = []
    for line in sentence.lines:
        if not line.startswith("#"):
            fields = line.split("\t")
            place = next(p for p in fields[9].split("|") if p.startswith("TokenRange="))
            start, _, end = place.removeprefix("TokenRange=").partition(":")
            found.append((fields[1], int(start), int(end)))
    return found


def test_contractions_are_multiword_tokens() -> None:
    (sentence,) = cut("I don't!")
    assert [line.split("\t")[0] for line in sentence.lines[3:]] == ["1", "2-3", "2", "3", "4"]
    assert ranges(sentence) == [
        ("I", 0, 1),
        ("don't", 2, 7),
        ("do", 2, 4),
        ("n't", 4, 7),
        ("!", 7, 8),
    ]
    misc = [line.split("\t")[9] for line in sentence.lines[3:]]
    assert ["SpaceAfter=No" in value for value in misc] == [False, True, False, False, False]
    again = next(read_conllu(io.StringIO(format_sentence(sentence))))
    assert again.forms == sentence.forms
    assert again.word_lines == sentence.word_lines


text_like = st.text(
    st.sampled_from(list("abcDE's.,!?-/:;()\"“” \n\t\u00a0\u200b’…@#$%0123456789éß😀")), max_size=80
) | st.text(max_size=40)


@given(text_like)
def test_nothing_is_lost_and_everything_is_where_it_says(text: str) -> None:
    end = 0
    for sentence in cut(text):
        last = end
        for form, start, stop in ranges(sentence):
            assert text[start:stop].replace("\ufeff", "") == form
            assert is_blank(text[last:start])
            last = max(last, stop)
        end = last
        assert sentence.forms and all(sentence.forms)
        assert len(sentence.word_lines) == sentence.n_words
    assert is_blank(text[end:])


@given(text_like)
def test_reading_in_pieces_is_the_same(text: str) -> None:
    text = text.replace("\ud800", "").replace("\r", " ")
    whole = [format_sentence(s) for s in cut(text)]
    try:
        stream = io.StringIO(text, newline="")
        found = [format_sentence(s) for s in read_text(stream)]
    except TreebankError:
        found = []
    assert found == whole


@pytest.mark.parametrize("split", ["text", "lines", "words"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\ufeffHello", [("Hello", 1, 6)]),
        ("Yes\n\n\ufeffHello", [("Yes", 0, 3), ("Hello", 6, 11)]),  # as after cat a b
        ("a \u200b b \u200d\u200c c \u2060", [("a", 0, 1), ("b", 4, 5), ("c", 9, 10)]),
        ("\u200bno\u200b", [("no", 1, 3)]),
        ("He\ufeffllo", [("Hello", 0, 6)]),
        ("\ufeff", []),
        (" \u200b \n", []),
    ],
)
def test_invisible_characters_are_no_words(
    text: str, expected: list[tuple[str, int, int]], split: Split
) -> None:
    found = cut(text, split)
    assert [row for sentence in found for row in ranges(sentence)] == expected
    assert "\ufeff" not in "".join(line for sentence in found for line in sentence.lines)


@pytest.mark.parametrize("split", ["lines", "words"])
def test_lines_that_are_too_long_are_cut(split: Split) -> None:
    text = "w " * 2000 + "\n" + "w " * 2001
    assert [s.n_words for s in cut(text, split)] == [2000, 1000, 1000, 1]


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("\ufeffÉté. Oui\n\nNon".encode())
    sentences = read_text(path)
    assert [s.forms for s in sentences] == [["Été", "."], ["Oui"], ["Non"]]
    assert sentences[0].source == str(path)
    path.write_bytes(b"good\n\nb\xffad\n")
    with pytest.raises(TreebankError, match=r"a\.txt, line 3: byte 2 of the line is 0xff"):
        read_text(path)
    for nothing in (b"", b" \n\n\t\n"):
        path.write_bytes(nothing)
        with pytest.raises(TreebankError, match="no words"):
            read_text(path)
    with pytest.raises(TreebankError, match="cannot be read"):
        read_text(tmp_path / "none.txt")


@pytest.mark.parametrize("pack", [gzip, lzma])
def test_packed_text_is_text_by_its_name(pack: ModuleType, tmp_path: Path) -> None:
    ending = {"gzip": "gz", "lzma": "xz"}[pack.__name__]
    packed = tmp_path / f"two.txt.{ending}"
    packed.write_bytes(pack.compress(b"I saw. You ran.\n"))
    found = list(read_sentences(str(packed), toy.reader().needed_tokenizer, None))
    assert [sentence.forms for sentence in found] == [["I", "saw", "."], ["You", "ran", "."]]
    packed.write_bytes(packed.read_bytes()[:-6])
    with pytest.raises(TreebankError, match="cannot be read"):
        list(read_sentences(str(packed), toy.reader().needed_tokenizer, None))


def test_lines_and_words() -> None:
    text = "I don't know. You do\n  not\n\n\nYes ,no.\n"
    lines = cut(text, "lines")
    assert [s.forms for s in lines] == [
        ["I", "do", "n't", "know", ".", "You", "do"],
        ["not"],
        ["Yes", ",", "no", "."],
    ]
    assert [s.lines[0] == "# newpar" for s in lines] == [True, False, True]
    words = cut(text, "words")
    assert [s.forms for s in words] == [
        ["I", "don't", "know.", "You", "do"],
        ["not"],
        ["Yes", ",no."],
    ]
    assert ranges(words[2])[1] == (",no.", text.index(",no."), text.index(",no.") + 4)
