"""Learning from a teacher's trees beside those of a treebank."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bbparse.models.learning.train import TextModels, train
from bbparse.runtime.errors import ConfigError
from bbparse.text.silver import Silver, is_sure, likely_in, likely_line, shares_of
from bbparse.text.tagger import Tagger
from bbparse.text.tagger_training import train_tagger
from bbparse.treebank import Sentence, evaluate, write_conllu
from bbparse.treebank.likely_tags import Likely
from bbparse.treebank.writing import with_columns
from tests import toy
from tests.models.learning.test_embeddings import Silent


def sure(sentence: Sentence, confidence: float) -> Sentence:
    """A sentence whose arcs all have a confidence."""
    lines = list(sentence.lines)
    for line in sentence.word_lines:
        columns = lines[line].split("\t")
        lines[line] = "\t".join([*columns[:9], f"SpaceAfter=No|Confidence={confidence:.2f}"])
    return replace(sentence, lines=lines)


def test_sentences_of_little_confidence_are_left_out(tmp_path: Path) -> None:
    path, some = tmp_path / "silver.conllu", toy.sentences()[:6]
    given = (0.99, 0.5, 0.9, 0.89)
    write_conllu(path, [*map(sure, some, given), *some[4:]])
    silver = Silver(path, "digest")
    for _ in range(2):  # the file is read anew
        kept = [sentence.forms for sentence in silver]
        assert kept == [some[i].forms for i in (0, 2, 4, 5)]
    words = sum(sentence.n_words for sentence in some)
    left_out = some[1].n_words + some[3].n_words
    assert silver.counts() == (words - left_out, left_out)


def doubtful(sentence: Sentence, share: int, confidence: float = 0.99) -> Sentence:
    """A silver sentence whose teacher gave its heads and labels so many thousandths."""
    n = sentence.n_words
    heads = [[head, share, n if head != n else 1, 1000 - share] for head in sentence.heads]
    labels = [[label, share, "dep", 1000 - share] for label in sentence.deprels]
    tags = [f"{upos}\t{xpos}" for upos, xpos in zip(sentence.upos, sentence.xpos)]
    likely = {"heads": heads, "labels": labels, "tags": tags, "feats": list(sentence.feats)}
    shown = sure(sentence, confidence)
    line = "# likely = " + json.dumps(likely)
    return replace(shown, lines=[line, *shown.lines], word_lines=[i + 1 for i in shown.word_lines])


def test_an_unsure_sentence_is_kept_with_what_is_likely(tmp_path: Path) -> None:
    path, some = tmp_path / "silver.conllu", toy.sentences()[:2]
    write_conllu(path, [doubtful(some[0], 600, confidence=0.2), sure(some[1], 0.2)])
    (kept,) = Silver(path, "digest")
    assert kept.forms == some[0].forms and not is_sure(kept)
    shares = shares_of(likely_in(kept)["labels"], lambda name: 7 if name == "dep" else -1)
    assert set(shares.numbers.tolist()) == {7} and set(shares.probabilities.tolist()) == {1.0}


def test_what_is_likely_is_read_as_it_was_written() -> None:
    probabilities = np.array([1.0, 0.25, 0.75], np.float32)
    given = Likely(np.array([0, 1, 3]), np.array([2, 0, 1], np.int32), probabilities)
    sentence = replace(toy.sentences()[0], lines=[likely_line([(given, "abc")])])
    rows = likely_in(sentence)["heads"]
    assert rows == ["c", ["a", 250, "b", 750]]
    found = shares_of(rows, "abc".index)
    assert all(np.array_equal(own, other) for own, other in zip(found, given))


def test_a_network_learns_the_doubts_of_its_teacher(tmp_path: Path) -> None:
    path, config = tmp_path / "silver.conllu", toy.network_configuration(epochs=30)
    gold, some = toy.sentences()[:8], toy.sentences()[8:20]
    found = []
    for share in (1000, 600):
        write_conllu(path, [doubtful(sentence, share) for sentence in some])
        model = train(gold, [], config, factors=(), silver=Silver(path, "digest"))
        right = 0.0
        for scored in model.maker(some):
            assert scored.scores is not None
            head = np.array(scored.sentence.heads, np.int32)
            mod = np.arange(1, len(head) + 1, dtype=np.int32)
            right += np.exp(scored.scores.log_probabilities(head, mod)).sum()
        found.append(right / sum(sentence.n_words for sentence in some))
    assert found[0] > found[1] + 0.1


def test_a_tagger_and_a_network_learn_from_silver_sentences() -> None:
    gold, silver = toy.sentences()[:8], toy.sentences()[8:]
    strange = with_columns(silver[0], upos=["XX"] * silver[0].n_words)
    alone = train_tagger(gold, toy.NETWORK)
    both = train_tagger(gold, toy.NETWORK, silver=[*silver, strange])
    assert both.tags == alone.tags and both.lexicon == alone.lexicon

    def upos(tagger: Tagger) -> float:
        scores = evaluate(toy.dev_sentences(), tagger.tag(toy.dev_sentences()))
        return scores.upos or 0.0

    assert upos(both) > upos(alone) + 0.05


class Recorded(Silent):
    """Vectors that are 0, and the sentences that they were asked for."""

    def __init__(self) -> None:
        self.asked: set[tuple[str, ...]] = set()

    def __call__(self, sentences: Sequence[Sentence]) -> list[np.ndarray]:
        self.asked |= {tuple(sentence.forms) for sentence in sentences}
        return super().__call__(sentences)


def test_the_parser_learns_from_silver_trees_with_the_tags_of_its_own_tagger(
    tmp_path: Path,
) -> None:
    path, config = tmp_path / "silver.conllu", toy.network_configuration(epochs=1)
    gold, trees = toy.sentences()[:8], toy.sentences()[8:12]
    strange = [with_columns(s, upos=["X"] * s.n_words, xpos=["X"] * s.n_words) for s in trees]
    write_conllu(path, [sure(strange[0], 0.99), sure(strange[1], 0.1), *strange[2:]])
    tagger = train_tagger(gold, replace(toy.NETWORK, epochs=2))
    tagged = Silver(path, "digest", tagger)
    for found, tree in zip(tagged, [trees[0], *trees[2:]], strict=True):
        assert found.upos == tagger(tree).upos != strange[0].upos[: tree.n_words]
        assert (found.forms, found.heads, found.deprels) == (tree.forms, tree.heads, tree.deprels)

    write_conllu(kept := tmp_path / "kept.conllu", tagged)
    networks = []
    for source, own in ((path, tagger), (kept, None)):
        found = train(
            gold,
            [],
            config,
            factors=(),
            silver=Silver(source, "digest"),
            reading=lambda *_, own=own: TextModels(own, None),
        )
        networks.append(found.maker.network)
    assert networks[0].keys.tolist() == networks[1].keys.tolist()
    assert np.array_equal(networks[0].vectors, networks[1].vectors)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["kept.conllu", "silver.conllu"]


def test_silver_sentences_have_pretrained_vectors(tmp_path: Path) -> None:
    path, config = tmp_path / "silver.conllu", toy.network_configuration(epochs=2)
    gold, silver = toy.sentences()[:20], toy.sentences()[20:40]
    write_conllu(path, silver)
    for_parser, for_tagger = Recorded(), Recorded()
    found = train(
        gold,
        [],
        config,
        factors=(),
        silver=Silver(path, "digest"),
        embeddings=lambda *_: for_parser,
    )
    assert found.maker.network is not None and found.maker.network.sizes["embeddings"] == 8
    train_tagger(gold, replace(toy.NETWORK, epochs=2), embeddings=for_tagger, silver=silver)
    assert for_parser.asked == for_tagger.asked == {tuple(s.forms) for s in (*gold, *silver)}


def test_what_cannot_learn_from_silver_trees_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "silver.conllu"
    write_conllu(path, toy.sentences()[:3])
    with pytest.raises(ConfigError, match="only networks learn from raw text"):
        train(toy.sentences(), [], toy.configuration(), silver=Silver(path, "digest"))
