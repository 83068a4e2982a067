"""Accuracy by class: by hand, and in agreement with the whole."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from bbparse.treebank import BREAKDOWNS, Breakdown, Sentence, Tally, read_conllu

DATA = Path(__file__).parent.parent / "data"


def chain(n: int) -> Sentence:
    """Each word's head is the word before it."""
    return Sentence.from_words(
        ["w"] * n, heads=list(range(n)), deprels=["root"] + ["obj"] * (n - 1)
    )


def test_lengths() -> None:
    by = Breakdown("length")
    by.add(chain(1), [0], ["root"])
    by.add(chain(10), [0] * 10, ["root"] * 10)
    by.add(chain(21), list(range(21)), ["root"] * 21)
    assert by.rows() == [
        {"length": "1-10", "sentences": 2, "words": 11, "uas": 2 / 11, "las": 2 / 11,
         "complete": 1 / 2},
        {"length": "21-30", "sentences": 1, "words": 21, "uas": 1.0, "las": 1 / 21,
         "complete": 1.0},
    ]  # fmt: skip


def test_distances() -> None:
    gold = Sentence.from_words(["w"] * 30, heads=[0, 1, 1, 1] + [1] * 26)
    by = Breakdown("distance")
    by.add(gold, [0, 1, 2, 3] + [1] * 26)
    rows = {str(row["distance"]): row for row in by.rows()}
    assert list(rows) == ["root", "1", "2", "3-6", "7-10", "11-20", "21-"]
    assert rows["1"] == {
        "distance": "1", "gold": 1, "predicted": 3, "recall": 1.0, "precision": 1 / 3, "f1": 1 / 2,
    }  # fmt: skip
    assert rows["2"]["predicted"] == rows["2"]["precision"] == rows["2"]["recall"] == 0
    assert (rows["3-6"]["gold"], rows["3-6"]["predicted"]) == (4, 3)
    assert (rows["3-6"]["recall"], rows["3-6"]["precision"]) == (3 / 4, 1.0)
    assert sum(int(row["gold"]) for row in by.rows()) == 30


def test_relations() -> None:
    gold = Sentence.from_words(
        ["a", "b", "c", "d"], heads=[2, 0, 2, 2], deprels=["nsubj", "root", "obj", "obj"]
    )
    by = Breakdown("relation")
    by.add(gold, [2, 0, 1, 2], ["obj", "root", "obj", "obj"])
    rows: dict[Any, Any] = {row.pop("relation"): row for row in by.rows()}
    assert list(rows) == ["obj", "nsubj", "root"]  # frequent first, then by name
    assert rows["obj"] == {
        "gold": 2, "predicted": 3, "uas": 1 / 2, "recall": 1 / 2, "precision": 1 / 3, "f1": 2 / 5,
    }  # fmt: skip
    assert rows["nsubj"] == {
        "gold": 1, "predicted": 0, "uas": 1.0, "recall": 0.0, "precision": 0.0, "f1": 0.0,
    }  # fmt: skip
    by = Breakdown("relation")
    by.add(gold, gold.heads)
    assert {row["recall"] for row in by.rows()} == {0.0}
    assert len(by.rows()) == 3


def test_classes_add_up_to_the_whole() -> None:
    rng = random.Random(3)
    tally = Tally()
    parts = {name: Breakdown(name) for name in BREAKDOWNS}
    for gold in read_conllu(DATA / "small-train.conllu", require_heads=True):
        heads = [h if rng.random() < 0.8 else rng.randint(0, gold.n_words) for h in gold.heads]
        labels = [label if rng.random() < 0.8 else "dep" for label in gold.deprels]
        tally.add(gold, heads, labels)
        for breakdown in parts.values():
            breakdown.add(gold, heads, labels)
    scores = tally.scores()
    rows: dict[str, list[dict[str, Any]]] = {name: b.rows() for name, b in parts.items()}

    def total(name: str, share: str, of: str) -> float:
        return sum(row[share] * row[of] for row in rows[name]) / scores.words

    assert total("length", "uas", "words") == pytest.approx(scores.uas)
    assert total("length", "las", "words") == pytest.approx(scores.las)
    assert total("distance", "recall", "gold") == pytest.approx(scores.uas)
    assert total("distance", "precision", "predicted") == pytest.approx(scores.uas)
    assert total("relation", "uas", "gold") == pytest.approx(scores.uas)
    assert total("relation", "recall", "gold") == pytest.approx(scores.las)
    assert total("relation", "precision", "predicted") == pytest.approx(scores.las)


def test_refusals() -> None:
    with pytest.raises(ValueError, match="by is 'word', expected one of length, distance, rel"):
        Breakdown("word")
    for name in BREAKDOWNS:
        assert Breakdown(name).rows() == []
        with pytest.raises(ValueError, match="heads: expected 2 values, found 1"):
            Breakdown(name).add(chain(2), [0])
        with pytest.raises(ValueError, match="deprels: expected 2 values, found 3"):
            Breakdown(name).add(chain(2), [0, 1], ["a", "b", "c"])
