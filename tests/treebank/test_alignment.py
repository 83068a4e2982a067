"""Scores over other words and sentences, against the official scorer."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from udtools import udeval

from bbparse.errors import TreebankError
from bbparse.treebank import Sentence, format_sentence, read_conllu
from bbparse.treebank.alignment import evaluate_text

NAMES = {
    "Tokens": "tokens", "Sentences": "sentences", "Words": "words", "UPOS": "upos", "XPOS": "xpos",
    "UFeats": "ufeats", "AllTags": "all_tags", "Lemmas": "lemmas", "UAS": "uas", "LAS": "las",
    "CLAS": "clas", "MLAS": "mlas", "BLEX": "blex",
}  # fmt: skip


def treebank(random_: random.Random, text: str) -> list[Sentence]:
    """A text cut at random: tokens, some of several words, sentences, tags and trees."""
    sentences = []
    start = 0
    while start < len(text):
        stop = min(len(text), start + random_.randint(1, 12))
        lines: list[str] = []
        forms: list[str] = []
        places: list[int] = []
        while start < stop:
            end = min(stop, start + random_.randint(1, 4))
            token, start = text[start:end], end
            words = [token]
            if len(token) > 1 and random_.random() < 0.4:
                k = random_.randint(1, len(token) - 1)
                words = [token[:k], token[k:]] if random_.random() < 0.7 else [token[:k], "x", "y"]
                first = len(forms) + 1
                span = f"{first}-{first + len(words) - 1}"
                lines.append(span + f"\t{token}" + "\t_" * 7 + "\tSpaceAfter=No")
            for word in words:
                forms.append(word)
                places.append(len(lines))
                lines.append("")
        n = len(forms)
        root = random_.randint(1, n)
        heads = [0 if m == root else random_.choice([h for h in range(1, n + 1) if h != m])
                 for m in range(1, n + 1)]  # fmt: skip
        heads = [0 if m == root else root if random_.random() < 0.7 else h
                 for m, h in enumerate(heads, start=1)]  # fmt: skip
        if any(cyclic(heads, m) for m in range(1, n + 1)):
            heads = [0 if m == root else root for m in range(1, n + 1)]
        for i, place in enumerate(places):
            label = "root" if heads[i] == 0 else random_.choice(["nsubj", "obj:x", "case", "aux"])
            lines[place] = "\t".join(
                (str(i + 1), forms[i], random_.choice("ab_"), random_.choice("NV"), "_",
                 random_.choice(["_", "Number=Sing", "Foo=Bar"]), str(heads[i]), label, "_", "_")
            )  # fmt: skip
        columns = [[lines[p].split("\t")[k] for p in places] for k in (2, 3, 4, 5, 7)]
        sentences.append(
            Sentence(lines, places, forms, columns[0], columns[1], columns[2], columns[3], heads,
                     columns[4], number=len(sentences) + 1)
        )  # fmt: skip
    return sentences


def cyclic(heads: list[int], m: int) -> bool:
    for _ in range(len(heads) + 1):
        if m == 0:
            return False
        m = heads[m - 1]
    return True


@pytest.mark.parametrize("seed", range(60))
def test_scores_are_those_of_the_official_scorer(seed: int, tmp_path: Path) -> None:
    random_ = random.Random(seed)
    text = "".join(random_.choice("abcd") for _ in range(random_.randint(1, 60)))
    gold, predicted = treebank(random_, text), treebank(random_, text)
    paths = [tmp_path / "gold", tmp_path / "predicted"]
    for path, some in zip(paths, (gold, predicted)):
        path.write_text("".join(map(format_sentence, some)), encoding="utf-8")
    expected = udeval.evaluate(*(udeval.load_conllu_file(str(path)) for path in paths))
    read = [list(read_conllu(path)) for path in paths]
    found = evaluate_text(*read)
    for theirs, ours in NAMES.items():
        assert found[ours].f1 == pytest.approx(expected[theirs].f1), theirs


def test_another_text() -> None:
    gold = [Sentence.from_words(["I", "saw"], heads=[2, 0], name="one")]
    other = [Sentence.from_words(["I", "see"], heads=[2, 0], name="two")]
    with pytest.raises(TreebankError, match=r"two: found 'ee', expected 'aw' as in .* one: the te"):
        evaluate_text(gold, other)
    with pytest.raises(TreebankError, match="its end: found '', expected 'saw'"):
        evaluate_text(gold, [Sentence.from_words(["I"], heads=[0])])
