"""The parser as a whole: model files, parts, commands, wrong input."""

from __future__ import annotations

import json
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from bbparse.apps.cli.main import cli
from bbparse.grammar.model import KIND, load_phrases, save_phrases
from bbparse.grammar.parser import PhraseParser
from bbparse.grammar.phrases import clean, read_trees, read_trees_text
from bbparse.grammar.tagger import PhraseTagger
from bbparse.grammar.training import train_phrases
from bbparse.parser.parser import Parser
from bbparse.runtime.archive import write_archive
from bbparse.runtime.errors import BBParseError, ConfigError, ModelError
from tests.archives import fields_of
from tests.grammar import toy


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("phrases") / "toy.model"
    save_phrases(toy.parser(), path)
    return path


def _run(*arguments: str) -> Any:
    return CliRunner().invoke(cli, list(arguments), catch_exceptions=True)


def test_a_model_parses_as_it_did_before_it_was_written(model: Path) -> None:
    again = load_phrases(model)
    again.tagger.margin = toy.parser().tagger.margin
    for tree in toy.trees(10, seed=5):
        for use in ("none", "tags"):
            before = toy.parser().parse(tree.words, use=use)
            after = again.parse(tree.words, use=use)
            assert str(before.trees[0]) == str(after.trees[0])
            assert before.trees[0].words == tree.words
            assert len(after.heads) == len(tree.words) and after.heads.count(0) == 1


def test_what_is_no_model_is_refused(model: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"bbparse\.Phrases"):
        Parser.load(model)
    other = tmp_path / "other.model"
    write_archive(other, "bbparse.Other", {"phrases": {}})
    with pytest.raises(ModelError, match=r"other\.model.*bbparse\.Other"):
        load_phrases(other)
    fields = fields_of(model)
    for field, value, message in (
        ("root", np.full_like(fields["root"], -np.inf), "no start symbol"),
        ("parent", fields["parent"] + 10_000, "parent has shape"),
        ("phrases", {}, "phrases: 'entries' is missing"),
    ):
        write_archive(other, KIND, {**fields, field: value})
        with pytest.raises(ModelError, match=message):
            load_phrases(other)


def test_sentences_without_a_tree_are_parsed_in_parts() -> None:
    found = toy.parser().parse("fly the the . Ada".split(), use="none")
    assert found.fallback
    assert found.trees[0].words == "fly the the . Ada".split()
    assert found.heads.count(0) == 1
    long = toy.parser().parse("Ada saw the fly .".split() * 60, use="tags")
    assert long.fallback and len(long.trees[0].words) == 300
    unknown = toy.parser().parse("Xqz zzzing 33".split(), use="tags")
    assert unknown.trees[0].words == "Xqz zzzing 33".split()
    with pytest.raises(ConfigError, match="no dependency parser"):
        toy.parser().parse(["Ada"], use="arcs")


def test_a_long_sentence_keeps_its_deadline() -> None:
    words = "Ada saw the fly .".split() * 2000
    started = time.process_time()
    found = toy.parser().parse(words, use="tags", time_limit=0.1)
    assert time.process_time() - started < 3.0
    assert found.fallback and found.trees[0].words == words
    assert found.heads.count(0) == 1 and max(found.heads) <= len(words)


def test_heads_that_are_given_are_kept() -> None:
    words = "Kim saw Ada with it .".split()
    alone = toy.parser().parse(words, use="none")
    seen = set()
    for head in range(1, 7):  # of "with"
        heads = [*alone.heads[:3], head, *alone.heads[4:]]
        found = toy.parser().parse(words, use="none", heads=heads)
        if found.heads == heads:
            seen.add(head)
            assert found.scores[0] <= alone.scores[0] + 1e-9
        else:  # no tree has them
            assert found.heads == alone.heads
    assert alone.heads[3] in seen and len(seen) == 2
    with pytest.raises(ConfigError, match="heads: 1 with 'none', expected 6"):
        toy.parser().parse(words, use="none", heads=[0])
    with pytest.raises(ConfigError, match="tags: 0, expected 6, one for each word"):
        toy.parser().parse(words, [], use="none")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"words": "Ada saw"}, "words are 'Ada saw', expected a list of words"),
        ({"words": ["Ada", ""]}, "none empty"),
        ({"use": "foo"}, "use is 'foo', expected none, tags, arcs, both"),
        ({"k": 0}, "k is 0, expected at least 1"),
        ({"k": 1.5}, "k is 1.5, expected an integer"),
        ({"heads": [2, 0, 9]}, "a head is 9, expected at most 3"),
        ({"node_limit": 0}, "node_limit is 0"),
    ],
)
def test_arguments_are_checked(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        toy.parser().parse(**{"words": ["Ada", "saw", "Kim"], "use": "none", **change})


@pytest.mark.parametrize(
    "text",
    [
        "(S (NP-SBJ-1 (-NONE- *T*-1)) (VP (V go)))",
        "(ROOT (NN a))",
        "(ROOT (verb (verb a) (noun b)))",
        "(X (Y~Z (NN a) (N b)) (A+B (N b)))",
        "(ROOT (S+VP (VP (A New-U+0020-York) (B -LRB-))))",
        f"(ROOT (X {' '.join(f'(T{i} w{i})' for i in range(40))}))",  # many symbols, one pair
    ],
)
def test_one_tree_is_enough_to_learn_from(text: str, tmp_path: Path) -> None:
    (tree,) = (clean(tree) for _, tree in read_trees_text(text))
    assert tree is not None
    save_phrases(train_phrases([tree], config=None), tmp_path / "a.model")
    parser = load_phrases(tmp_path / "a.model")
    assert parser.parse(tree.words, tree.tags, use="none").trees == [tree]
    own = parser.parse(tree.words, use="none").trees
    assert parser.parse(tree.words, use="tags").trees[0].words == tree.words
    # tags that the grammar does not know are the tagger's
    assert parser.parse(tree.words, ["?"] * len(tree.words), use="none").trees == own


def test_commands(model: Path, tmp_path: Path) -> None:
    gold, out = tmp_path / "gold.ptb", tmp_path / "out.ptb"
    gold.write_text(toy.text(8, seed=7))
    using = ("--model", str(model), "--with", "tags")
    assert _run("phrases", str(gold), *using, "-o", str(out)).exit_code == 0
    assert [t.words for _, t in read_trees(out)] == [t.words for _, t in read_trees(gold)]
    result = _run("evaluate", str(gold), str(out), "--json")
    scores = json.loads(result.stdout)
    assert scores["sentences"] == 8 and 0.5 < scores["f1"] <= 1
    text = tmp_path / "a.txt"
    text.write_text("Ada saw the fly.\n")
    for kind, start in (("tree", "ROOT\n└─S"), ("jsonl", '{"words"')):
        shown = _run("phrases", str(text), *using, "--format", kind)
        assert shown.exit_code == 0 and shown.stdout.startswith(start)
    trained = tmp_path / "new.model"
    gold.write_text(toy.text(20))
    result = _run("train-phrases", str(gold), "--config", "none", "--model", str(trained))
    assert result.exit_code == 0 and load_phrases(trained).dependencies is None


def test_commands_refuse_what_is_wrong(model: Path, tmp_path: Path) -> None:
    bad, out = tmp_path / "bad.ptb", tmp_path / "out"
    for content, message in (
        ("(ROOT (S (NN a))\n", "bad.ptb:1: a tree that begins here is not closed"),
        ("(ROOT\n (S ()))\n", "bad.ptb:2: an empty bracket"),
        ("", "bad.ptb: no trees"),
    ):
        bad.write_text(content)
        result = _run("train-phrases", str(bad), "--model", str(out))
        assert isinstance(result.exception, BBParseError)
        assert message in str(result.exception) and not out.exists()
    for arguments in (
        ("phrases", str(bad), "--model", str(bad)),
        ("parse", str(bad), "--model", str(model)),
    ):
        result = _run(*arguments, "-o", str(out))
        assert isinstance(result.exception, ModelError) and not out.exists()


class Scores:
    """A tagger with the scores of another one, changed."""

    def __init__(self, tagger: Any, change: Any, tags: tuple[str, ...] = ()) -> None:
        self.tagger, self.change = tagger, change
        self.tags, self.feats = (*tags, *tagger.tags), tagger.feats

    def scores(self, sentences: Any) -> Any:
        return [self.change(*rows) for rows in self.tagger.scores(sentences)]


def with_scores(change: Any, tags: tuple[str, ...] = ()) -> PhraseParser:
    """The toy parser, whose tagger has other scores, and more tags."""
    own = toy.parser()
    scores: Any = Scores(own.tagger.tagger, change, tags)
    tagger = PhraseTagger(scores, own.grammar, own.vocabulary)
    tagger.margin = own.tagger.margin
    return PhraseParser(own.vocabulary, own.grammar, tagger, own.tokenizer)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_scores_that_are_no_numbers_get_a_line(number: float) -> None:
    words = "Kim saw Ada .".split()
    for parser in (
        with_scores(lambda tags, joins, rules: (np.full_like(tags, number), joins, rules)),
        with_scores(lambda tags, joins, rules: (tags, np.full_like(joins, number), rules)),
    ):
        with pytest.raises(ModelError, match="the tagger's scores are not finite"):
            parser.parse(words, use="tags")


def test_words_have_the_best_tags_that_the_grammar_knows() -> None:
    def preferring_others(tags: Any, joins: Any, rules: Any) -> Any:
        return np.hstack((np.full((len(tags), 4), 1e3), tags)), joins, rules

    others = ("A\tA", "B\tB", "C\tC", "D\tD")
    parser = with_scores(preferring_others, others)
    for words in ("Kim saw Ada .".split(), "the dog walks .".split()):
        for use in ("none", "tags"):
            found, expected = parser.parse(words, use=use), toy.parser().parse(words, use=use)
            assert not found.fallback and str(found.trees[0]) == str(expected.trees[0])
            assert found.scores == expected.scores
    own = toy.parser()
    strange: Any = SimpleNamespace(tags=others, feats=())
    with pytest.raises(ModelError, match="have no tag in common"):
        PhraseTagger(strange, own.grammar, own.vocabulary)
