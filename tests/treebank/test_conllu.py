"""Reading CoNLL-U and CoNLL-X, and writing the same bytes again."""

from __future__ import annotations

import gzip
import io
import lzma
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bbparse.runtime.errors import TreebankError
from bbparse.treebank import Sentence, format_sentence, read_conllu, reading, write_conllu
from bbparse.treebank.reading import COLUMN_NAMES
from bbparse.treebank.writing import with_misc, with_tree

DATA = Path(__file__).parent.parent / "data"


def row(number: str, form: str, head: str = "_", deprel: str = "_", misc: str = "_") -> str:
    return "\t".join((number, form, form.lower(), "X", "_", "_", head, deprel, "_", misc))


SMALL = "\n".join(
    (
        "# sent_id = a-1",
        "# text = Don't!",
        "1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No",
        row("1", "Do", "0", "root"),
        row("2", "n't", "1", "advmod"),
        row("2.1", "go", "_", "_"),
        row("3", "!", "1", "punct", "SpaceAfter=No|Odd=ä"),
    )
)


def read(data: str | bytes, **options: object) -> list[Sentence]:
    if isinstance(data, str):
        data = data.encode()
    return list(read_conllu(io.BytesIO(data), **options))  # type: ignore[arg-type]


def written(sentences: list[Sentence]) -> str:
    target = io.StringIO(newline="")
    write_conllu(target, sentences)
    return target.getvalue()


def test_columns_of_words() -> None:
    (sentence,) = read(SMALL + "\n\n")
    assert (sentence.name, sentence.n_words, sentence.has_heads) == ("a-1", 3, True)
    assert sentence.lines == SMALL.split("\n") and sentence.word_lines == [3, 4, 6]
    columns = (sentence.forms, sentence.lemmas, sentence.upos, sentence.heads, sentence.deprels)
    assert [*zip(*columns, strict=True)] == [
        ("Do", "do", "X", 0, "root"),
        ("n't", "n't", "X", 1, "advmod"),
        ("!", "!", "X", 1, "punct"),
    ]


def test_names_and_line_numbers() -> None:
    block = row("1", "A", "0", "root") + "\n\n"
    first, second, third = read(block + "\n\n# text = A\n" + block + "# sent_id = x \n" + block)
    assert (first.name, first.line_number) == ("sentence #1", 1)
    assert (second.name, second.line_number) == ("sentence #2", 5)
    assert (third.name, third.line_number) == ("x", 8)


@pytest.mark.parametrize("name", ["small-train.conllu", "small-dev.conllu"])
def test_test_data_round_trip(name: str) -> None:
    text = (DATA / name).read_bytes()
    sentences = list(read_conllu(DATA / name, require_heads=True, single_root=True))
    assert written(sentences).encode() == text
    again = "".join(format_sentence(s, s.heads, s.deprels) for s in sentences)
    assert again.encode() == text


def fields() -> st.SearchStrategy[str]:
    letters = st.characters(blacklist_characters="\t\n", blacklist_categories=["Cs"])
    # Columns must not be blank, and a carriage return at the end belongs to the line break.
    text = st.text(letters, min_size=1, max_size=6)
    return text.filter(lambda text: "\r" not in text and not text.isspace())


@st.composite
def files(draw: st.DrawFn) -> str:
    text = draw(st.sampled_from(["", "\n", " \n\n", "\ufeff", "\ufeff\n"]))
    end = draw(st.sampled_from(["\n", "\r\n"]))
    n_sentences = draw(st.integers(1, 4))
    for i in range(n_sentences):
        lines = [f"#{comment}" for comment in draw(st.lists(fields(), max_size=2))]
        n = draw(st.integers(1, 5))
        range_start = draw(st.integers(1, 2 * n))  # beyond the last word: no multiword token
        for k in range(1, n + 1):
            if k == range_start:
                lines.append(row(f"{k}-{draw(st.integers(k, n))}", draw(fields())))
            lines.append(row(str(k), draw(fields()), str(draw(st.integers(0, n))), draw(fields())))
            if draw(st.booleans()):
                lines.append(row(f"{k}.1", draw(fields()), misc=draw(fields())))
        text += end.join(lines)
        last = i == n_sentences - 1
        text += draw(st.sampled_from(["", end, end * 2, end * 4] if last else [end * 2, end * 3]))
    return text


@given(files())
@example("\n \n" + SMALL + "\n\t\n" + SMALL)  # blank lines with spaces
@example(row("1", "#", "0", "root") + "\n# a comment after a word\n" + row("2", "B", "1") + "\n\n")
def test_any_file_round_trip(text: str) -> None:
    sentences = read(text)
    assert written(sentences) == text
    assert "".join(format_sentence(s, s.heads, s.deprels) for s in sentences) == text
    assert written(list(read_conllu(io.StringIO(text, newline="")))) == text


def test_byte_order_marks_beside_blank_lines() -> None:
    for blank in ("\ufeff", "\ufeff\r\n", "\ufeff\n\n", "\n\ufeff\n"):
        with pytest.raises(TreebankError, match="the file is empty"):
            read(blank)
    assert written(read(f"{SMALL}\n\ufeff\n{SMALL}")) == f"{SMALL}\n\n{SMALL}"


def test_several_trees_of_one_sentence() -> None:
    (sentence,) = read("\ufeff" + SMALL)
    heads = [[0, 1, 1], [2, 0, 2]]
    text = "".join(
        format_sentence(sentence, h, comments=[f"tree = {k}"], first=k == 0, last=k == 1)
        for k, h in enumerate(heads)
    )
    assert text.count("\ufeff") == 1
    assert not text.endswith("\n")
    trees = read(text)
    assert [tree.heads for tree in trees] == heads
    assert "# tree = 1" in trees[1].lines


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_what_was_said_of_another_tree_goes(end: str) -> None:
    said = ["# tree = 2 of 3", "# score = -0.500000", "# upper_bound = inf", "# proved = yes"]
    said += ["# confidence = 0.9000", "# broken_rule = a word has two heads"]
    kept = ["# sent_id = 1", "# score = high", "# proved = yes, by hand", "#confidence = 0.9000"]
    words = [row("1", "A", "0", "root"), row("2", "B", "1"), row("3", "C", "1")]
    words = [f"{word[:-1]}SpaceAfter=No|Confidence=0.{m}0" for m, word in enumerate(words, 5)]
    (sentence,) = read(end.join([*said, *kept, *words]) + end)
    own = format_sentence(sentence, [0, 1, 2], comments=["confidence = 0.1000"]).split(end)
    assert own[:5] == [*kept, "# confidence = 0.1000"]
    assert own[5:7] == words[:2] and own[7].endswith("\tSpaceAfter=No")
    again = format_sentence(sentence, [0, 1, 2], confidences=[0.1, 0.2, 0.3]).split(end)
    assert [line[-4:] for line in again[4:7]] == ["0.10", "0.20", "0.30"]
    assert format_sentence(sentence) == end.join([*said, *kept, *words]) + end
    changed = with_tree(sentence, [0, 1, 2], sentence.deprels)
    assert format_sentence(changed).split(end) == [*own[:4], *own[5:]]
    assert [changed.lines[i][:1] for i in changed.word_lines] == ["1", "2", "3"]


def test_write_separates_sentences_of_files_without_blank_lines() -> None:
    one = read(SMALL)
    text = written([*one, *one])
    assert text == SMALL + "\n\n" + SMALL
    assert written([]) == ""


@pytest.mark.parametrize(
    ("heads", "deprels", "message"),
    [
        ([0], None, "heads: expected 3 values, found 1"),
        (None, ["a"], "deprels: expected 3 values, found 1"),
        ([0, 4, 1], None, r"heads\[1\]: expected -1 to 3, found 4"),
        (None, ["a", "b\tc", "d"], r"deprels\[1\]: .* found 'b\\tc'"),
        (None, ["a", "b", ""], r"deprels\[2\]: .* found ''"),
    ],
)
def test_wrong_values_to_write(
    heads: list[int] | None, deprels: list[str] | None, message: str
) -> None:
    (sentence,) = read(SMALL)
    with pytest.raises(ValueError, match=message):
        format_sentence(sentence, heads, deprels)
    with pytest.raises(ValueError, match="one line each"):
        format_sentence(sentence, comments=["a\nb"])


def test_files_packed_and_not(tmp_path: Path) -> None:
    data = (DATA / "small-dev.conllu").read_bytes()
    sentences = list(read_conllu(DATA / "small-dev.conllu"))
    for name in ("a.conllu", "a.conllu.gz", "a.conllu.xz"):
        path = tmp_path / name
        assert write_conllu(path, read_conllu(DATA / "small-dev.conllu")) == len(sentences)
        again = list(read_conllu(str(path)))
        assert [s.lines for s in again] == [s.lines for s in sentences]
        assert written(again).encode() == data
    packed = (tmp_path / "a.conllu.gz").read_bytes()
    assert gzip.decompress(packed) == data and packed[4:8] == bytes(4), "no time of day"
    assert lzma.decompress((tmp_path / "a.conllu.xz").read_bytes()) == data


def test_reading_is_streaming() -> None:
    def endless() -> object:
        while True:
            yield row("1", "A", "0", "root").encode() + b"\n"
            yield b"\n"

    reader = read_conllu(endless())  # type: ignore[arg-type]
    assert [next(reader).number for _ in range(3)] == [1, 2, 3]


PLUS = f"# global.columns = {' '.join(COLUMN_NAMES)} X:Y\n{row('1', 'A', '0')}\t*\n"
GOOD = row("1", "A", "2", "x") + "\n" + row("2", "B", "0", "root") + "\n"
OVERLAPPING = "\n".join(
    [row("1-2", "AB"), row("1", "A"), row("2-3", "BC"), row("2", "B"), row("3", "C")]
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "input: the file is empty, expected at least one sentence"),
        ("# sent_id = a\n\n", "line 1: expected a sentence with at least one word, found none"),
        (row("0.1", "A") + "\n\n", "line 1: expected a sentence with at least one word"),
        (GOOD + "3\tC\n\n", "input, line 3: expected 10 columns, found 2$"),
        (GOOD + row("3", "C") + "\t_\n", "line 3: expected 10 columns, found 11$"),
        ("# global.columns = ID FORM\n1\tA\n", r"line 1: global.columns is \['ID', 'FORM'\], exp"),
        (PLUS, r"line 2: expected 10 columns, found 11 \(of CoNLL-U Plus, keep the first 10"),
        (row("1", "A") + "\r\r" + row("1", "B"), "line 1: .* found 19 .lines end in carriage retu"),
        (GOOD + "3\tC", r"line 3: expected 10 columns, found 2 \(the file ends in this line\)"),
        (GOOD.replace("\t", " "), "line 1: .* found 1 .*separated by tabs, not by spaces"),
        ("\n" + row("2", "A") + "\n", "line 2: found the id '2', expected 1$"),
        (GOOD + row("2", "C") + "\n", "line 3: found the id '2', expected 3$"),
        (GOOD + row("4", "C") + "\n", "line 3: found the id '4', expected 3$"),
        (GOOD + row("x", "C") + "\n", "line 3: found the id 'x', expected 3$"),
        (row("2-3", "A") + "\n" + GOOD, "line 1: multiword token 2-3 found, expected .* at 1$"),
        (row("1-3", "A") + "\n" + GOOD, "line 1: multiword token up to word 3 .* at most 2"),
        (OVERLAPPING, "line 3: multiword token 2-3 found, expected one that begins at 3$"),
        (GOOD + row("1.1", "A") + "\n", r"line 3: empty node 1.1 found, expected 2.k after word 2"),
        (GOOD + row("3", "C", "4") + "\n", "line 3: head of word 3 is '4', .* number from 0 to 3"),
        (GOOD + row("3", "C", "01") + "\n", "line 3: head of word 3 is '01', expected a number"),
        (GOOD + row("3", "C", "²") + "\n", "line 3: head of word 3 is '²', expected a number"),
        (GOOD + row("3", "C", "") + "\n", "line 3: head of word 3 is '', expected a number"),
        (GOOD + row("3", "C", "9" * 5000) + "\n", "line 3: head of word 3 is '9+, expected"),
        (row("9" * 5000, "C") + "\n", "line 1: found the id '9+, expected 1$"),
        (row("1-" + "9" * 5000, "C") + "\n", "line 1: found the id '1-9+, expected 1$"),
        (GOOD + row("3", "") + "\n", "line 3: FORM of word 3 is '', expected text"),
        (GOOD + row("3", "\u3000") + "\n", "line 3: FORM of word 3 is '.u3000', expected text"),
        (GOOD + row("3", "C", "0", "") + "\n", "line 3: DEPREL of word 3 is '', expected text"),
    ],
)
def test_malformed_files(text: str, message: str) -> None:
    with pytest.raises(TreebankError, match=message):
        read(text)
    with pytest.raises(TreebankError) as caught:
        read(GOOD + "\n" + text.lstrip("\n") if text.strip() else text)
    assert "\n" not in str(caught.value)


def test_bytes_that_are_not_utf_8() -> None:
    data = (GOOD + "\n" + GOOD).encode() + "3\tCé".encode("latin-1") + b"\t_" * 8 + b"\n\n"
    with pytest.raises(TreebankError, match=r"input, line 6: byte 4 of the line is 0xe9, .* UTF-8"):
        read(data)
    with pytest.raises(TreebankError, match="expected text in UTF-8"):
        list(read_conllu(io.TextIOWrapper(io.BytesIO(data), encoding="utf-8")))
    surrogate = io.StringIO(GOOD.replace("A", "\ud800"))
    with pytest.raises(TreebankError, match=r"input, line 1: .*UTF-8"):
        list(read_conllu(surrogate))


@pytest.mark.parametrize(
    ("heads", "single_root", "message"),
    [
        ("2 0 _", False, "input, line 4, sentence s: word 3 has no head, expected 0 to 3"),
        ("2 1 0", False, "input, line 2, sentence s: the heads 1 → 2 → 1 form a cycle"),
        ("2 3 3", False, "line 2, sentence s: no word has head 0, expected at least one root"),
        ("2 3 1", True, "line 2, sentence s: no word has head 0, expected exactly one root"),
        ("0 1 0", True, "line 4, sentence s: words 1, 3 have head 0, expected exactly one root"),
        ("0 2 1", True, "line 3, sentence s: the heads 2 → 2 form a cycle"),
    ],
)
def test_sentences_without_a_tree(heads: str, single_root: bool, message: str) -> None:
    rows = [row(str(i), "A", head) for i, head in enumerate(heads.split(), 1)]
    text = "\n".join(["# sent_id = sentence s", *rows, "", ""])
    assert len(read(text)) == 1
    with pytest.raises(TreebankError, match=message):
        read(text, require_heads=True, single_root=single_root)


def test_skipping_invalid_sentences() -> None:
    bad_tree, bad_line, bad_bytes = row("1", "A", "1") + "\n\n", "1\tA\n\n", b"1\t\xff\n\n"
    data = f"{GOOD}\n{bad_tree}{bad_line}".encode() + bad_bytes + GOOD.encode()
    errors: list[Exception] = []
    skipping = {"require_heads": True, "skip_invalid": True}
    sentences = read(data, **skipping, on_skip=errors.append)
    assert [sentence.number for sentence in sentences] == [1, 5]
    assert [str(error).split(":")[0] for error in errors] == [
        "input, line 4, sentence #2",
        "input, line 6",
        "input, line 8",
    ]
    assert len(read(data, **skipping)) == 2


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(TreebankError, match="missing: cannot be read: No such file"):
        list(read_conllu(tmp_path / "missing"))
    with pytest.raises(TreebankError, match="cannot be read: Is a directory"):
        list(read_conllu(tmp_path))
    packed = gzip.compress((DATA / "small-dev.conllu").read_bytes())
    for name, data in {
        "cut.gz": packed[: len(packed) // 2],
        "plain.gz": GOOD.encode(),
        "plain.xz": GOOD.encode(),
        "cut.xz": lzma.compress(GOOD.encode())[:-20],
        "damaged.gz": packed[:100] + bytes(100) + packed[200:],
    }.items():
        (tmp_path / name).write_bytes(data)
        with pytest.raises(TreebankError, match=f"{name}: cannot be read: .*"):
            list(read_conllu(tmp_path / name))


@pytest.mark.parametrize("open_lines", [gzip.open, lzma.open])
def test_lines_and_sentences_have_a_limit(
    open_lines: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line is not read beyond it: a small compressed file may have a line of gigabytes."""
    monkeypatch.setattr(reading, "MAX_LINE", 1 << 20)
    monkeypatch.setattr(reading, "MAX_LINES", 50)
    path = tmp_path / {gzip.open: "a.gz", lzma.open: "a.xz"}[open_lines]
    with open_lines(path, "wb") as file:
        file.write(GOOD.encode() + b"\n# ")
        for _ in range(40):
            file.write(bytes(1 << 20))
    tracemalloc.start()
    with pytest.raises(TreebankError, match=r"line 4: longer than 1 MiB, the limit$"):
        list(read_conllu(path))
    assert tracemalloc.get_traced_memory()[1] < 1 << 24
    tracemalloc.stop()
    rows = "\n".join(row(str(i), "w") for i in range(1, 60))
    with pytest.raises(TreebankError, match=r"line 4: a sentence of more than 50 lines"):
        read(GOOD + "\n" + rows)
    assert len(read(f"# {'x' * 200_000}\n{GOOD}\n" * 8)) == 8  # the limit is not that of a file


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_sentences_are_written_with_a_blank_line_between_them(end: str) -> None:
    text = SMALL.replace("\n", end) + end
    (last,), (other,), (cut,) = read(text), read(text + end), read(text.removesuffix(end))
    for sentence in (last, other, cut):
        assert written([sentence, last]) == text + end + text


@pytest.mark.parametrize(
    ("misc", "value", "expected"),
    [
        ("_", "0.97", "Confidence=0.97"),
        ("Confidence=0.5", "0.97", "Confidence=0.97"),
        ("A=b|Confidence=0.5|SpaceAfter=No", "0.97", "A=b|SpaceAfter=No|Confidence=0.97"),
        ("Confidence=0.5", "", "_"),
        ("A=b", "", "A=b"),
        ("_\r", "1", "Confidence=1\r"),
        ("Confidences=2", "1", "Confidences=2|Confidence=1"),
    ],
)
def test_a_value_of_misc_replaces_the_old_one(misc: str, value: str, expected: str) -> None:
    assert with_misc(f"1\tsee\t{misc}", "Confidence", value) == f"1\tsee\t{expected}"
