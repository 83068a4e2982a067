"""Unigram pieces, against all segmentations of a word, and against the library tokenizers."""

from __future__ import annotations

import json
import random
import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable
from string import ascii_lowercase
from typing import Any

import numpy as np
import pytest

from bbparse.neural.embeddings.pieces import ForeignEncoder
from bbparse.neural.embeddings.unigram import UnigramPieces
from bbparse.runtime.errors import EmbeddingsError

SCORES = {
    "<s>": 0.0,
    "<pad>": 0.0,
    "</s>": 0.0,
    "<unk>": 0.0,
    "▁": -4.0,
    **{letter: -6.0 - i / 7 for i, letter in enumerate(ascii_lowercase)},
    "é": -9.0,
    "A": -9.5,
    "▁the": -3.0,
    "▁se": -4.5,
    "en": -5.0,
    "see": -8.0,
    "ing": -4.8,
    "▁in": -4.1,
    "<mask>": 0.0,
}
PIECES = list(SCORES)
#: Compiled by SentencePiece: fullwidth A to A, e and acute to é, the ligature fi to its letters,
#: zero-width space to a blank, and the control character 1 to nothing.
TABLE = zlib.decompress(
    b64decode(
        "eNol02WQF0QYB+C9A2b4ADN0Dd0tJYh0SncI0gypKCEheTTS3XVwdEp3qiihIAhKy6CUDK00PH/Y2Wd/uzvzftiZd0"
        "P8EEKiEBkxUYlDOJ4mOgxNEEJC55jc0WFcmRCi7NcmfH9vxsRa4slImZKQjOQkISmpSE0KUpKOPSejQxqZloxkIj0Z"
        "yEo2MpOFnOQiOznISz5yk4eCfEB+ClCEohSiMMUpQTE+5GNK8RElKUs5SuN5oSKVKE8FqvIJlalCDWpSjerUoS61qE"
        "0DGlKP+jShKY1oTHM+41Oa0YrWtKAl7WhPG9rSkU50iIsOHWRXPqczXfiSr/iCbvSkF93pQR/68jW96c8A+vENgxnC"
        "QAYxjOGRBmAooxjNCEYylnGM4VsmMonxTGAq05jMFGYyi+nMYC7zmM0cFrKI+SxgCUtZTCzLWUEcy1jNGlayivVsYC"
        "3r2MRmNvId29jOFrayi93sYCf72B/pSfZyiMMc4CA/coTv+YGjHOMnfuYXfuU4J/iN05zkFGc5xxl+5zwX+IM/ucwV"
        "LnKJaxHzo8JV+Rf/cIPr/M1t7nCTW9zLHhXuyX+5y0MecZ8H/Mf/POYJz3nBU57xmje85FV49/EqhI5dwuFV4S1HP4"
        "wJ"
    )
)


def tokenizer(**settings: Any) -> dict[str, Any]:
    """Contents of tokenizer.json, as transformers write them for XLM-R."""
    table = {"type": "Precompiled", "precompiled_charsmap": b64encode(TABLE).decode()}
    mark = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    return {
        "model": {"type": "Unigram", "unk_id": 3, "vocab": [list(pair) for pair in SCORES.items()]},
        "normalizer": table,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, mark]},
        **settings,
    }


@pytest.fixture(scope="module")
def pieces() -> UnigramPieces:
    return UnigramPieces.read(tokenizer())


def best_segmentation(text: str) -> tuple[float, list[str]]:
    """Best score, by enumeration; an unknown character has the rarest one's, less 10."""
    if not text:
        return 0.0, []
    found = []
    for end in range(1, len(text) + 1):
        piece = text[:end]
        unknown = end == 1 and SCORES.get(piece, 0.0) == 0.0
        if unknown or SCORES.get(piece, 0.0) < 0.0:
            score, rest = best_segmentation(text[end:])
            score += min(SCORES.values()) - 10.0 if unknown else SCORES[piece]
            found.append((score, ["<unk>" if unknown else piece, *rest]))
    return max(found)


def test_pieces_have_the_best_score(pieces: UnigramPieces) -> None:
    rng = random.Random(1)
    for _ in range(300):
        word = "".join(rng.choices(["the", "in", "se", "e", "n", "g", "h", "中", "x"], k=4))[:9]
        names = best_segmentation("▁" + word)[1]
        fused = [n for i, n in enumerate(names) if n != "<unk>" or names[i - 1] != "<unk>"]
        assert [PIECES[i] for i in pieces.of_word(word)] == fused


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("the", "▁the"),
        ("seeing", "▁se e ing"),
        ("e\u0301", "▁ é"),
        ("\uff21ﬁ", "▁ A f i"),
        ("a\u200bin", "▁ a ▁in"),
        ("the\x01", "▁the"),
        ("\x01", ""),
        ("", ""),
        ("▁", ""),
        ("中文💦a中", "▁ <unk> a <unk>"),
        ("e\u0302", "▁ e <unk>"),
        ("<s>", "▁ <unk> s <unk>"),
        ("\udc80", "▁ <unk>"),
    ],
)
def test_words_are_normalised(pieces: UnigramPieces, word: str, expected: str) -> None:
    assert " ".join(PIECES[i] for i in pieces.of_word(word)) == expected


def test_words_of_any_length(pieces: UnigramPieces) -> None:
    assert len(pieces.of_word("ing" * 20_000)) == 1 + 20_000


def test_pieces_of_text_and_their_characters(pieces: UnigramPieces) -> None:
    text = " seeing \x01 the\u200bin, ﬁe\u0301"
    ids, places = pieces.of_characters(text)
    assert places.shape == (len(text), 3)
    held: dict[int, list[int]] = {}
    for i, (number, place, size) in enumerate(places.tolist()):
        assert (number < 0) == (text[i] in " \x01\u200b")
        if number >= 0:
            assert place == len(held.setdefault(number, [])) < size
            held[number].append(i)
    found = {PIECES[ids[n]]: "".join(text[i] for i in inside) for n, inside in held.items()}
    assert found.items() >= {"▁se": "se", "ing": "ing", "▁the": "the", "i": "ﬁ", "e": "e"}.items()
    assert all(
        places[inside, 2].tolist() == [len(inside)] * len(inside) for inside in held.values()
    )
    words = ["seeing", "thing", "see", "\uff21"]
    together = [i for word in words for i in pieces.of_word(word)]
    assert pieces.of_characters("\n ".join(words))[0] == together
    assert pieces.of_characters(" ")[0] == [] == pieces.of_characters("")[0]


def test_necessary_pieces(pieces: UnigramPieces) -> None:
    kept = [PIECES[i] for i in pieces.necessary(["in", "\uff21", "中"])]
    assert kept == ["<s>", "</s>", "<unk>", "▁", "i", "n", "A"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.update(normalizer={"type": "NFKC"}), "an unknown step: {'type': 'NFKC'}"),
        (lambda t: t["pre_tokenizer"]["pretokenizers"].pop(), "not mark the beginning of words"),
        (lambda t: t["pre_tokenizer"]["pretokenizers"][1].update(prepend_scheme="never"), "step"),
        (lambda t: t["model"].update(byte_fallback=True), "its unknown piece is not <unk>"),
        (lambda t: t["model"].update(unk_id=1), "its unknown piece is not <unk>"),
    ],
)
def test_other_tokenizers_are_foreign(
    change: Callable[[dict[str, Any]], None], message: str
) -> None:
    other = tokenizer()
    change(other)
    with pytest.raises(ForeignEncoder, match=message):
        UnigramPieces.read(other)


def test_steps_that_change_nothing() -> None:
    data = tokenizer()
    steps = [
        data["normalizer"],
        {"type": "Strip", "strip_left": False, "strip_right": True},
        {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "▁"},
    ]
    data["normalizer"] = {"type": "Sequence", "normalizers": steps}
    data["pre_tokenizer"] = {"type": "Metaspace", "replacement": "▁", "add_prefix_space": True}
    assert UnigramPieces.read(data).fields.keys() == UnigramPieces.read(tokenizer()).fields.keys()
    plain = UnigramPieces.read({**data, "normalizer": None})
    assert [PIECES[i] for i in plain.of_word("\uff21")] == ["▁", "<unk>"]


def test_damaged_tables() -> None:
    scores, rng = np.array(list(SCORES.values())), np.random.default_rng(2)
    words = ["e\u0301tude", "\uff21ﬁ\u200b\x01"]
    for _ in range(200):
        table = np.frombuffer(TABLE, np.uint8).copy()
        table[rng.integers(4, len(table), 20)] = rng.integers(0, 256, 20)
        damaged = UnigramPieces(PIECES, scores, table[: 4 * rng.integers(2, len(table) // 4)])
        assert all(max(damaged.of_word(word), default=0) < len(PIECES) for word in words)
    with pytest.raises(EmbeddingsError, match="scores that are not finite"):
        UnigramPieces(PIECES, scores * np.nan, table)
    with pytest.raises(EmbeddingsError, match="its pieces have no <s>"):
        UnigramPieces(PIECES[1:], scores[1:], table)


def test_pieces_are_those_of_the_library(pieces: UnigramPieces) -> None:
    library = pytest.importorskip("tokenizers").Tokenizer.from_str(
        json.dumps(
            {
                "version": "1.0",
                "added_tokens": [],
                "post_processor": None,
                "decoder": None,
                "truncation": None,
                "padding": None,
                **tokenizer(),
            }
        )
    )
    rng = random.Random(2)
    letters = [*ascii_lowercase, "e\u0301", "\uff21", "ﬁ", "\u200b", "\x01", "中", "💦", " "]
    words = ["".join(rng.choices(letters, k=rng.randrange(1, 12))) for _ in range(2_000)]
    for word in words:
        encoded = library.encode([word], is_pretokenized=True, add_special_tokens=False)
        assert list(pieces.of_word(word)) == encoded.ids
