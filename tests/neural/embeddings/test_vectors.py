"""Files of word vectors: formats, what is kept, and every kind of bad line."""

from __future__ import annotations

import gzip
import lzma
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bbparse.neural.embeddings import EMBEDDINGS_FIELDS, WordVectors, embeddings_from, read_vectors
from bbparse.runtime.archive import read_archive, write_archive
from bbparse.runtime.errors import BBParseError, EmbeddingsError, ModelError
from bbparse.treebank import Sentence

SENTENCE = Sentence.from_words(["The", "dog", "barks", "Zz"])
LINES = [
    "the 0.5 1 -2 3.25 1e-2",
    "dog 1 1 1 1 1",
    "cat 2 0 0 0 1",
    "The 9 9 8 7 6",
    "mouse 0 0 0 0 0",
    "barks -1 -1 -2 -1 -1",
]


def written(folder: Path, lines: list[str], header: bool = False, end: str = "\n") -> Path:
    path = folder / "some.vec"
    first = [f"{len(lines)} 5"] if header else []
    path.write_bytes("".join(line + end for line in [*first, *lines]).encode())
    return path


def standardised(rows: list[list[float]]) -> np.ndarray:
    array = np.array(rows)
    return (array - array.mean(axis=0)) / array.std(axis=0)


def test_words_of_the_treebank_and_the_first_are_kept(tmp_path: Path) -> None:
    found = read_vectors(written(tmp_path, LINES), [SENTENCE], first=3)
    note = found.note
    assert (note["words"], note["of"], note["dimension"]) == (5, 6, 5)  # no mouse
    kept = [[float(x) for x in LINES[i].split()[1:]] for i in (0, 1, 2, 3, 5)]
    expected = standardised(kept)
    cat = Sentence.from_words(["cat", "mouse"])
    of_words, of_cat = found([SENTENCE, cat])
    assert of_words.dtype == np.float32 and of_words.shape == (4, found.width) == (4, 8)
    assert not of_words[:, 5:].any() and not of_words[3].any() and not of_cat[1].any()
    error = np.abs(expected).max() / 127.0
    assert np.abs(of_words[:3, :5] - expected[[3, 1, 4]]).max() <= error
    assert np.abs(of_cat[0, :5] - expected[2]).max() <= error


def test_lower_case_is_the_last_resort(tmp_path: Path) -> None:
    found = read_vectors(written(tmp_path, LINES), [SENTENCE])
    upper, lower, other = found([Sentence.from_words([word]) for word in ("DOG", "dog", "THE")])
    the, exact = found([Sentence.from_words([word]) for word in ("the", "The")])
    assert np.array_equal(upper, lower) and np.array_equal(other, the)
    assert not np.array_equal(the, exact)


def test_words_are_looked_up_in_nfc(tmp_path: Path) -> None:
    path = tmp_path / "v.vec"
    for file, treebank, word in (("é", "e\u0301", "é"), ("e\u0301", "é", "E\u0301")):
        path.write_text(f"{file} 1 2\nb 3 1\n", encoding="utf-8")
        found = read_vectors(path, [Sentence.from_words([treebank, "b"])])
        (row,) = found([Sentence.from_words([word])])
        assert row.any()


@pytest.mark.parametrize("packed", ["", ".gz", ".xz"])
@pytest.mark.parametrize(
    ("end", "between"), [("\n", "\t"), (" \n", " "), ("\r\n", " "), (" \t\n", " ")]
)
def test_formats_are_read_alike(packed: str, end: str, between: str, tmp_path: Path) -> None:
    plain = read_vectors(written(tmp_path, LINES), [SENTENCE])
    lines = [line.replace(" ", between) for line in LINES]
    path = written(tmp_path, lines, header=True, end=end)
    if packed:
        pack = {".gz": gzip.compress, ".xz": lzma.compress}[packed]
        path = tmp_path / f"some.vec{packed}"
        path.write_bytes(pack((tmp_path / "some.vec").read_bytes()))
    found = read_vectors(path, [SENTENCE])
    for name, array in plain.to_fields().items():
        if name != "embeddings":
            assert np.array_equal(array, found.to_fields()[name])


def test_the_first_of_two_counts_and_words_may_have_blanks(tmp_path: Path) -> None:
    path = written(tmp_path, [*LINES, "dog 7 7 7 7 7", ". . . 1 2 3 4 5"])
    found = read_vectors(path, [SENTENCE])
    assert found.note["twice"] == 1 and found.note["words"] == 7
    without = read_vectors(written(tmp_path, [*LINES, ". . . 1 2 3 4 5"]), [SENTENCE])
    assert np.array_equal(found([SENTENCE])[0], without([SENTENCE])[0])


@pytest.mark.parametrize(
    ("lines", "header", "message"),
    [
        (["dog 1 2"], "3 2\n", r"line 1: announces 3 words, but 1 follow"),
        (["dog 1 2"], "1 0\n", r"line 1: 0 numbers a word, expected 1 to 4096"),
        (["dog 1 2"], "1 1000000\n", r"line 1: 1000000 numbers a word"),
        (["dog 1 2", "cat 1"], "", r"line 2: a word and 1 numbers, expected 2 numbers"),
        (["dog 1 2", "cat 1 2 3"], "", r"line 2: a word and 3 numbers, expected 2 numbers"),
        (["dog 1 2", ""], "", r"line 2: a word and 0 numbers"),
        (["cat 1 2", "dog 1 x"], "", r"line 2: could not convert .*'x'"),
        (["cat 1 2", "dog 1 nan"], "", r"line 2: number 2 is 'nan', expected a finite one"),
        (["dog -1e99 2"], "", r"line 1: number 1 is '-1e99'"),
        (["dog 1 2", "d\udc80g 1 2"], "", r"line 2: byte 0x80 in the word, expected text in UTF-8"),
        (["cat 1 2"], "", "has no word of the treebank"),
        ([], "5 2\n", "there are no vectors"),
        ([], "", "there are no vectors"),
    ],
)
def test_what_is_wrong_is_one_line(
    lines: list[str], header: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "bad.vec"
    text = header + "".join(line + "\n" for line in lines)
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(EmbeddingsError, match=message) as caught:
        read_vectors(path, [SENTENCE])
    assert str(caught.value).startswith(str(path)) and "\n" not in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(BBParseError, match=r"none\.vec: cannot be read"):
        read_vectors(tmp_path / "none.vec", [SENTENCE])
    path = tmp_path / "cut.vec.gz"
    path.write_bytes(gzip.compress(("\n".join(LINES) + "\n").encode())[:-12])
    with pytest.raises(BBParseError, match=r"cut\.vec\.gz: cannot be read"):
        read_vectors(path, [SENTENCE])
    path = tmp_path / "binary.vec"
    path.write_bytes(b"3 4\n" + bytes(range(11, 256)) * 9)
    with pytest.raises(EmbeddingsError, match=r"binary\.vec, line 2"):
        read_vectors(path, [SENTENCE])


def test_models_hold_the_same_vectors(tmp_path: Path) -> None:
    found = read_vectors(written(tmp_path, LINES), [SENTENCE], license="CC BY 4.0")
    path = tmp_path / "arrays"
    write_archive(path, "embeddings", found.to_fields())
    arrays = read_archive(path, "embeddings", EMBEDDINGS_FIELDS, set(EMBEDDINGS_FIELDS))
    again = embeddings_from(arrays)
    assert isinstance(again, WordVectors) and again.note == found.note
    assert again.note["license"] == "CC BY 4.0"
    assert np.array_equal(again([SENTENCE])[0], found([SENTENCE])[0])
    assert embeddings_from({}) is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"embeddings_keys": None}, "'embeddings_keys' is missing"),
        ({"embeddings": {}}, "the note of the embeddings is damaged"),
        ({"embeddings": {"name": "a", "hash": "b", "dimension": 0}}, "dimension"),
        ({"embeddings_rows": np.zeros((6, 7), np.int8)}, r"expected \(6, 8\)"),
        ({"embeddings_rows": np.zeros((6, 8), np.int16)}, "int16"),
        ({"embeddings_scales": np.zeros(5, np.float32)}, r"scales has shape \(5,\)"),
        ({"embeddings_scales": np.full(6, np.nan, np.float32)}, "not finite"),
        ({"embeddings_keys": np.zeros(6, np.uint64)}, "not strictly ascending"),
    ],
)
def test_damaged_arrays(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    arrays = read_vectors(written(tmp_path, LINES), [SENTENCE]).to_fields()
    for name, array in change.items():
        arrays.pop(name)
        if array is not None:
            arrays[name] = array
    with pytest.raises(ModelError, match=rf"^a\.model: .*{message}"):
        embeddings_from(arrays, "a.model")
