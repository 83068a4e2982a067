"""Treebanks compared: as wholes, by kinds of word, and where words differ."""

from __future__ import annotations

import io
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from udtools import udeval
from udtools.udeval import evaluate as official_evaluate
from udtools.udeval import load_conllu

from bbparse.runtime.errors import TreebankError
from bbparse.treebank import Sentence, evaluate, format_sentence, read_conllu
from bbparse.treebank.alignment import evaluate_text
from bbparse.treebank.breakdown import BREAKDOWNS, breakdown
from bbparse.treebank.evaluation import Tally
from bbparse.treebank.trees import find_cycle

DATA = Path(__file__).parent.parent / "data"
FEATURES = "_ Number=Sing Typo=Yes|Number=Sing Number=Plur|Case=Nom Case=Nom|Number=Plur"


def gold_sentences() -> list[Sentence]:
    return list(read_conllu(DATA / "small-train.conllu", require_heads=True))


def officially(gold: list[Sentence], predicted: list[Sentence]) -> Any:
    """What the official scorer says."""
    texts = ("".join(format_sentence(s, last=False) for s in some) for some in (gold, predicted))
    return official_evaluate(*(load_conllu(io.StringIO(text), "memory", {}) for text in texts))


def tree(forms: str, heads: list[int], labels: str, **columns: Any) -> Sentence:
    """A sentence of words and labels with spaces between."""
    return Sentence.from_words(forms.split(), heads=heads, deprels=labels.split(), **columns)


def disturbed(sentence: Sentence, rate: float, rng: random.Random) -> Sentence:
    """The sentence with some heads, labels, tags and lemmas changed, still a tree with one root."""
    heads, deprels = list(sentence.heads), list(sentence.deprels)
    labels = ["nsubj", "obj", "obl", "det", "case", "punct", "cc", "advmod", "obl:agent"]
    for i in range(sentence.n_words):
        if heads[i] == 0:
            continue
        if rng.random() < rate:
            # A head that is not below the word keeps the tree a tree.
            below = {i + 1}
            while True:
                more = {m for m, h in enumerate(heads, 1) if h in below} - below
                if not more:
                    break
                below |= more
            heads[i] = rng.choice([h for h in range(1, len(heads) + 1) if h not in below])
        if rng.random() < rate:
            deprels[i] = rng.choice(labels)
    (result,) = read_conllu(io.StringIO(format_sentence(sentence, heads, deprels)))
    for column, values in ((2, "cat _ be"), (3, "NOUN VERB PUNCT"), (4, "NN VB _"), (5, FEATURES)):
        for line in result.word_lines:
            if rng.random() < rate / 2:
                fields = result.lines[line].split("\t")
                fields[column] = rng.choice(values.split())
                result.lines[line] = "\t".join(fields)
    (result,) = read_conllu(io.StringIO("\n".join(result.lines) + "\n\n"))
    return result


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.5, 1.0])
def test_agrees_with_the_official_scorer(rate: float) -> None:
    rng = random.Random(7)
    gold = gold_sentences()
    predicted = [disturbed(sentence, rate, rng) for sentence in gold]
    ours = evaluate(gold, predicted)

    official = officially(gold, predicted)
    assert ours.uas == pytest.approx(official["UAS"].f1, abs=1e-12)
    assert ours.las_universal == pytest.approx(official["LAS"].f1, abs=1e-12)
    for name, title in (
        ("clas", "CLAS"),
        ("mlas", "MLAS"),
        ("blex", "BLEX"),
        ("upos", "UPOS"),
        ("xpos", "XPOS"),
        ("ufeats", "UFeats"),
        ("all_tags", "AllTags"),
        ("lemmas", "Lemmas"),
    ):
        assert getattr(ours, name) == pytest.approx(official[title].f1, abs=1e-12), name
    assert ours.words == official["Words"].gold_total
    if rate == 0:
        assert set(list(ours.as_dict().values())[3:]) == {1.0}
    else:
        assert 0 < ours.las <= ours.las_universal <= ours.uas < 1
        assert ours.mlas is not None and ours.ufeats is not None and ours.feats is not None
        assert ours.mlas < ours.clas
        assert ours.feats < ours.ufeats < 1


@pytest.mark.parametrize("label", ["dobj", "_", "made-up", "nsubj:pass", "aux:pass", "punct"])
def test_labels_of_other_schemes_count_as_for_the_official_scorer(label: str) -> None:
    """UD 1's labels, say: only labels of UD 2 make a content word."""
    gold = [tree("see him", [0, 1], f"root {own}") for own in (label, "obj")]
    predicted = gold[::-1]
    for first, second in ((gold, predicted), (gold, gold), (predicted, predicted)):
        official = officially(first, second)
        assert evaluate(first, second).clas == pytest.approx(official["CLAS"].f1, abs=1e-12)


def test_by_hand() -> None:
    tags = ["DET", "NOUN", "VERB", "PUNCT"]
    first = tree("the cat slept .", [2, 3, 0, 3], "det nsubj:x root punct", upos=tags)
    tally = Tally()
    tally.add(first, [2, 0, 2, 3], ["det", "root", "conj", "punct"])
    tally.add(tree("yes", [0], "root", upos=["INTJ"]), [0], ["root"])
    scores = tally.scores()
    assert (scores.sentences, scores.words, scores.words_no_punct) == (2, 5, 4)
    assert scores.uas == scores.las == 3 / 5
    assert scores.uas_no_punct == scores.las_no_punct == 2 / 4
    assert scores.complete == scores.complete_labelled == scores.root == 1 / 2
    assert scores.clas == 1 / 3

    tally = Tally()
    tally.add(first, [2, 3, 0, 3], ["det", "nsubj:y", "root", "punct"])
    scores = tally.scores()
    assert (scores.uas, scores.las, scores.las_universal) == (1, 3 / 4, 1)
    assert (scores.complete, scores.complete_labelled, scores.root) == (1, 0, 1)

    tally = Tally()
    tally.add(first, [2, 3, 0, 3])
    assert (tally.scores().uas, tally.scores().las) == (1, 0)


def test_treebanks_that_do_not_match() -> None:
    gold, other = gold_sentences(), gold_sentences()
    other[4].forms[1] = "young"
    longer, shorter = (Sentence.from_words(words.split()) for words in ("old cat", "old"))
    for one, two, message in (
        (gold, gold[:-1], "155 has no counterpart: .*small-train.conllu has only 154 sent"),
        (gold[:-1], gold, "155 has no counterpart: .*small-train.conllu has only 154 sent"),
        ([longer], [], "sentence #1 has no counterpart: the predicted treebank has only 0 sent"),
        (gold, other, "small-train-005: word 2 is 'young', expected 'old'"),
        ([longer], [shorter], "sentence #1: found 1 words, expected 2"),
    ):
        with pytest.raises(TreebankError, match=message):
            evaluate(one, two)


def chain(n: int) -> Sentence:
    """Each word's head is the word before it."""
    return Sentence.from_words(
        ["w"] * n, heads=list(range(n)), deprels=["root"] + ["obj"] * (n - 1)
    )


def test_lengths() -> None:
    gold = [chain(n) for n in (1, 10, 21)]
    predicted = [replace(sentence, deprels=["root"] * sentence.n_words) for sentence in gold]
    predicted[1] = replace(predicted[1], heads=[0] * 10)
    assert breakdown("length", gold, predicted) == [
        {
            "length": "1-10",
            "sentences": 2,
            "words": 11,
            "uas": 2 / 11,
            "las": 2 / 11,
            "complete": 1 / 2,
        },
        {
            "length": "21-30",
            "sentences": 1,
            "words": 21,
            "uas": 1.0,
            "las": 1 / 21,
            "complete": 1.0,
        },
    ]


def test_relations() -> None:
    gold = Sentence.from_words(
        ["a", "b", "c", "d"], heads=[2, 0, 2, 2], deprels=["nsubj", "root", "obj", "obj"]
    )
    predicted = replace(gold, heads=[2, 0, 1, 2], deprels=["obj", "root", "obj", "obj"])
    of_both = breakdown("relation", [gold], [predicted])
    rows: dict[Any, Any] = {row.pop("relation"): row for row in of_both}
    assert list(rows) == ["obj", "nsubj", "root"]  # frequent first, then by name
    assert rows["obj"] == {
        "gold": 2,
        "predicted": 3,
        "uas": 1 / 2,
        "recall": 1 / 2,
        "precision": 1 / 3,
        "f1": 2 / 5,
    }
    assert rows["nsubj"] == {
        "gold": 1,
        "predicted": 0,
        "uas": 1.0,
        "recall": 0.0,
        "precision": 0.0,
        "f1": 0.0,
    }


def test_classes_add_up_to_the_whole() -> None:
    rng = random.Random(3)
    gold, predicted = gold_sentences(), []
    for sentence in gold:
        n = sentence.n_words
        heads = [h if rng.random() < 0.8 else rng.randint(0, n) for h in sentence.heads]
        labels = [label if rng.random() < 0.8 else "dep" for label in sentence.deprels]
        predicted.append(replace(sentence, heads=heads, deprels=labels))
    scores = evaluate(gold, predicted)
    rows: dict[str, Any] = {name: breakdown(name, gold, predicted) for name in BREAKDOWNS}

    def total(name: str, share: str, of: str) -> float:
        return sum(row[share] * row[of] for row in rows[name]) / scores.words

    assert total("length", "uas", "words") == pytest.approx(scores.uas)
    assert total("length", "las", "words") == pytest.approx(scores.las)
    assert total("distance", "recall", "gold") == pytest.approx(scores.uas)
    assert total("distance", "precision", "predicted") == pytest.approx(scores.uas)
    assert total("relation", "uas", "gold") == pytest.approx(scores.uas)
    assert total("relation", "recall", "gold") == pytest.approx(scores.las)
    assert total("relation", "precision", "predicted") == pytest.approx(scores.las)


NAMES = {
    "Tokens": "tokens",
    "Sentences": "sentences",
    "Words": "words",
    "UPOS": "upos",
    "XPOS": "xpos",
    "UFeats": "ufeats",
    "AllTags": "all_tags",
    "Lemmas": "lemmas",
    "UAS": "uas",
    "LAS": "las",
    "CLAS": "clas",
    "MLAS": "mlas",
    "BLEX": "blex",
}


def treebank(random_: random.Random, text: str) -> list[Sentence]:
    """A text cut at random: tokens, some of several words, sentences, tags and trees."""
    sentences: list[Sentence] = []
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
        heads = [
            0 if m == root else random_.choice([h for h in range(1, n + 1) if h != m])
            for m in range(1, n + 1)
        ]
        heads = [
            0 if m == root else root if random_.random() < 0.7 else h
            for m, h in enumerate(heads, start=1)
        ]
        if find_cycle(heads):
            heads = [0 if m == root else root for m in range(1, n + 1)]
        for i, place in enumerate(places):
            label = "root" if heads[i] == 0 else random_.choice(["nsubj", "obj:x", "case", "aux"])
            lines[place] = "\t".join(
                (
                    str(i + 1),
                    forms[i],
                    random_.choice("ab_"),
                    random_.choice("NV"),
                    "_",
                    random_.choice(["_", "Number=Sing", "Foo=Bar"]),
                    str(heads[i]),
                    label,
                    "_",
                    "_",
                )
            )
        sentences += read_conllu(io.StringIO("\n".join(lines) + "\n\n"))
    return sentences


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


def test_arcs_that_cross_are_counted_apart() -> None:
    words = Sentence.from_words(list("abcd"), heads=[3, 4, 0, 3])
    tally = Tally()
    tally.add(Sentence.from_words(list("ab"), heads=[2, 0]), [2, 0])
    assert tally.scores().crossing_f1 is None and "crossing_f1" not in tally.measures
    tally.add(words, [3, 4, 0, 3])  # words 1, 2 and 3 have arcs that cross
    tally.add(words, [3, 3, 0, 3])
    tally.add(words, [2, 4, 0, 3])  # only words 2 and 3
    found = tally.scores()
    assert found.crossing_precision == 1.0
    assert found.crossing_recall == 5 / 9
    assert found.crossing_f1 == 10 / 14


def test_words_that_look_alike() -> None:
    """A composed letter and a letter with a mark: the message shows the numbers."""
    composed, marked = (Sentence.from_words([form]) for form in ("Zo\u00eb", "Zoe\u0308"))
    expected = r"word 1 is 'Zoe\\u0308', expected 'Zo\\xeb' \(the same letters"
    with pytest.raises(TreebankError, match=expected):
        evaluate([composed], [marked])
    with pytest.raises(
        TreebankError, match=r"found 'e\\u0308', expected '\\xeb' \(the same letters"
    ):
        evaluate_text([composed], [marked])
