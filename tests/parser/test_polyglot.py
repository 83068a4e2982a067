"""Models that tell languages apart, and leave each to its own model."""

from __future__ import annotations

import pickle
from codecs import encode
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from bbparse.apps.corpus.files import FileOptions, answers, parse_section, read_sections
from bbparse.models import MODELS
from bbparse.models.configuration import Configuration
from bbparse.models.learning.train import TextModels
from bbparse.models.model_file import load_base, load_model, model_bytes, model_of_bytes, save_model
from bbparse.neural.embeddings import fit_base, fit_encoder
from bbparse.parser.parser import Parser
from bbparse.runtime.errors import ModelError, ProblemError
from bbparse.text.languages import Languages
from bbparse.text.raw import plain_text
from bbparse.text.tagger_training import train_tagger
from bbparse.text.tokenizer_training import train_tokenizer
from bbparse.treebank import Sentence
from tests import toy
from tests.apps.cli.conftest import NETWORK
from tests.neural.embeddings import test_bert

weights = test_bert.weights


def other() -> list[Sentence]:
    """The toy treebank in a language with other letters."""
    return [
        Sentence.from_words(
            [encode(form, "rot13") for form in s.forms],
            upos=s.upos,
            heads=s.heads,
            deprels=s.deprels,
        )
        for s in toy.sentences()
    ]


def trained(sentences: list[Sentence], config: Path, embeddings: object) -> Parser:
    def reading(source: object, checkpoint: object) -> TextModels:
        tagger = train_tagger(sentences, toy.NETWORK, embeddings=source)
        return TextModels(tagger, train_tokenizer(sentences))

    return Parser.train(
        sentences,
        config=Configuration.load(config),
        factors=(),
        embeddings=embeddings,
        reading=reading,
    )


@pytest.fixture(scope="module")
def models(
    tmp_path_factory: pytest.TempPathFactory, weights: dict[str, np.ndarray]
) -> dict[str, Path]:
    """A base of one language, which knows three, and a model of another language on it."""
    folder = tmp_path_factory.mktemp("polyglot")
    config = folder / "network.toml"
    config.write_text(NETWORK, encoding="utf-8")
    encoder = test_bert.write_encoder(folder / "tiny", weights)
    base, head = folder / "joint.model", folder / "rotten.model"
    patch = pytest.MonkeyPatch()
    patch.setattr("bbparse.text.tokenizer_training._SETTINGS", toy.NETWORK)
    model = trained(toy.sentences(), config, partial(fit_encoder, encoder)).model
    texts = {"en": plain_text(toy.sentences()), "rot": plain_text(other()), "zh": "中文" * 50}
    names = {"zh": "sinitic", "rot": "rotten", "en": "anglish"}  # files sort them
    model.languages = Languages.learned(texts, names)
    save_model(model, base)
    trained(other(), config, partial(fit_base, load_base(base))).save(head)
    patch.undo()
    return {"joint": base, "rotten": head}


@pytest.fixture
def parser(models: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> Parser:
    found = MODELS.files()
    monkeypatch.setattr(type(MODELS), "files", lambda self: {**found, **models})
    return Parser.load("joint")


def joint(parser: Parser) -> Parser:
    """The parser as if it knew no languages."""
    return Parser(replace(parser.model, languages=None))


def test_each_paragraph_has_the_model_of_its_language(parser: Parser) -> None:
    english = plain_text(toy.sentences()[:3])
    rotten = plain_text(other()[:3])
    text = f"{rotten}\n\n{english}\n\n{rotten}"
    nlp = parser
    doc = nlp(text)
    told = [line for s in doc for line in s.sentence.lines if line.startswith("# language")]
    assert told[0] == told[-1] == "# language = rot" and len(told) == len(doc)
    assert "# language = en (joint model)" in told
    alone = {"rot": Parser.load("rotten"), "en": joint(parser)}
    parts = [alone["rot"](rotten), alone["en"](english), alone["rot"](rotten)]
    trees = [(s.heads, s.labels, s.sentence.upos) for part in parts for s in part]
    assert [(s.heads, s.labels, s.sentence.upos) for s in doc] == trees
    # words come with the comment, too, and without one they are the joint model's
    sentences = [s.sentence for s in doc]
    assert [p.trees[0].heads for p in parser.parse_all(sentences)] == [t[0] for t in trees]
    bare = [Sentence.from_words(s.forms) for s in other()[:3]]
    expected = [s.heads for s in alone["en"](bare)]
    assert [s.heads for s in nlp(bare)] == expected
    again = pickle.loads(pickle.dumps(parser))
    assert [(s.heads, s.labels) for s in again(text)] == [t[:2] for t in trees]


def test_one_sentence_at_a_time(parser: Parser) -> None:
    (sentence,) = [s.sentence for s in parser(plain_text(other()[:1]))][:1]
    own = Parser.load("rotten")
    assert parser.tagged(sentence).upos == own.tagged(sentence).upos
    heads = np.array([-1, *own.parse(sentence)[0].heads])
    assert parser.parse(sentence) == own.parse(sentence)
    assert parser.labels(sentence, heads) == own.labels(sentence, heads)
    assert parser.problem(sentence).arc_score.tolist() == own.problem(sentence).arc_score.tolist()
    fixed = replace(sentence, heads=[-1] * sentence.n_words, deprels=["_"] * sentence.n_words)
    (around,) = parser.parse_all([fixed], keep_heads=True)
    assert around.trees[0].heads == tuple(heads[1:])


def test_a_language_that_is_given(parser: Parser) -> None:
    for name in ("rot", "rotten"):
        chosen = parser.with_options(language=name)
        assert chosen.model.languages is None and chosen.model.maker is not parser.model.maker
    own = parser.with_options(language="zh").model  # not installed
    assert own.languages is None and own.maker is parser.model.maker
    with pytest.raises(
        ModelError, match=r"language 'xx' is unknown, expected one of en \(anglish\)"
    ):
        parser.with_options(language="xx")
    with pytest.raises(ModelError, match="the model knows no languages"):
        Parser.load("rotten", language="en")
    few = parser.with_options(members=1, projective=True)
    assert few.of_language("rot").model.config.projective


def test_other_models_have_the_limit_on_parts(parser: Parser) -> None:
    parser.model.maker = replace(parser.model.maker, max_parts=1)
    (sentence,) = [s.sentence for s in Parser.load("rotten")(other()[:1])]
    with pytest.raises(ProblemError, match="too many parts"):
        parser.with_options(language="rot").problem(sentence)


def test_models_keep_their_languages(models: dict[str, Path]) -> None:
    model = load_model(models["joint"])
    again = model_of_bytes(model_bytes(model))
    assert again.languages is not None and model.languages is not None
    assert again.languages.models == model.languages.models
    assert np.array_equal(again.languages.table, model.languages.table)
    texts = {"中": "zh", "Gur png fyrcg.": "rot", "The cat slept.": "en"}
    assert {text: again.languages.identify(text) for text in texts} == texts
    assert again.languages.identify("") in texts.values()
    with pytest.raises(ModelError, match="the table of languages has shape"):
        Languages({"en": "english"}, model.languages.table)
    with pytest.raises(ModelError, match="not sorted"):
        Languages(dict(reversed(again.languages.models.items())), model.languages.table)


def parsed(parser: Parser, path: Path) -> str:
    """What becomes of a file."""
    sections = read_sections([str(path)], parser.needed_tokenizer, None)
    work = partial(parse_section, parser=parser, settings=FileOptions())
    return "".join(answer.text for _, answer in answers(work, sections, 1))


@pytest.mark.parametrize("language", [None, "rot", "anglish"])
def test_files(parser: Parser, language: str | None, tmp_path: Path) -> None:
    path = tmp_path / "in.txt"
    path.write_text(f"{plain_text(other()[:2])}\n\n{plain_text(toy.sentences()[:2])}\n")
    text = parsed(parser.with_options(language=language), path)
    told = set(line for line in text.splitlines() if line.startswith("# language"))
    both = {"# language = rot", "# language = en (joint model)"}
    assert told == (set() if language else both)
    if language:
        own = Parser.load("rotten") if language == "rot" else joint(parser)
        assert text == parsed(own, path)
