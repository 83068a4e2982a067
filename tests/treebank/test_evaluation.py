"""Our scores against the official scorer where both define them, and by hand elsewhere."""

from __future__ import annotations

import io
import random
from pathlib import Path
from typing import Any

import pytest
from udtools.udeval import evaluate as official_evaluate
from udtools.udeval import load_conllu

from bbparse.errors import TreebankError
from bbparse.treebank import Sentence, Tally, evaluate, format_sentence, read_conllu
from bbparse.treebank.evaluation import COUNTS

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
        ("clas", "CLAS"), ("mlas", "MLAS"), ("blex", "BLEX"), ("upos", "UPOS"), ("xpos", "XPOS"),
        ("ufeats", "UFeats"), ("all_tags", "AllTags"), ("lemmas", "Lemmas"),
    ):  # fmt: skip
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


def test_tags_only_where_both_have_them() -> None:
    tagged = tree("a b", [0, 1], "root obj", upos=["X", "Y"], lemmas=["_", "b"])
    plain = tree("a b", [0, 1], "root obj", upos=["X", "X"])
    scores = evaluate([tagged], [plain])
    assert scores.upos == 1 / 2
    assert scores.lemmas is scores.xpos is scores.feats is scores.all_tags is scores.mlas is None
    assert "lemmas" not in scores.as_dict()
    # a word without a gold lemma has any lemma right
    assert evaluate([tagged], [tagged]).lemmas == 1
    scores = evaluate([tagged], [tree("a b", [0, 1], "root obj", lemmas=["x", "c"])])
    assert (scores.upos, scores.lemmas, scores.blex) == (None, 1 / 2, 1 / 2)


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


def test_nothing_and_wrong_lengths() -> None:
    assert set(Tally().scores().as_dict().values()) == {0}
    two = Sentence.from_words(["a", "b"], heads=[0, 1])
    for given, message in (
        (([0, 1],), "heads: expected 1 values, found 2"),
        (([0], []), "deprels: expected 1 values, found 0"),
        (([0], ["root"], two), "tags: expected 1 words, found 2"),
    ):
        with pytest.raises(ValueError, match=message):
            Tally().add(Sentence.from_words(["a"], heads=[0]), *given)  # type: ignore[arg-type]
    assert len(Tally()) == 0 and Tally().counts.shape == (0, len(COUNTS))


def test_treebanks_that_do_not_match() -> None:
    gold, other = gold_sentences(), gold_sentences()
    other[4].forms[1] = "young"
    longer, shorter = (Sentence.from_words(words.split()) for words in ("old cat", "old"))
    for one, two, message in (
        (gold, gold[:-1], "small-train-155 has no counterpart: the predicted"),
        (gold[:-1], gold, "small-train-155 has no counterpart: the gold"),
        (gold, other, "small-train-005: word 2 is 'young', expected 'old'"),
        ([longer], [shorter], "sentence #1: found 1 words, expected 2"),
    ):
        with pytest.raises(TreebankError, match=message):
            evaluate(one, two)


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
