"""Tokenizers that are trained on a few sentences of text."""

from __future__ import annotations

import random
from os import getpid
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from bbparse.models.learning.train import train_text_models
from bbparse.models.model_file import load_tagger, save_tagger
from bbparse.neural.embeddings import EncoderStates, WordVectors, fit_encoder
from bbparse.runtime.archive import archive_bytes
from bbparse.runtime.errors import EmbeddingsError, ModelError
from bbparse.text.raw import is_spaced
from bbparse.text.tokenizer import Tokenizer
from bbparse.text.tokenizer_training import train_tokenizer
from bbparse.treebank import Sentence
from bbparse.treebank.sentence import surface_tokens
from tests import toy
from tests.neural.embeddings import test_bert, test_unigram

weights = test_bert.weights


def sentence(*tokens: str, begins: bool = False) -> Sentence:
    """Tokens that end with _ have no blank after them; + is between words of one token."""
    lines = ["# newpar"] if begins else []
    forms: list[str] = []
    places = []
    for token in tokens:
        misc = "SpaceAfter=No" if token.endswith("_") else "_"
        words = token.removesuffix("_").split("+")
        first = len(forms) + 1
        if len(words) > 1:
            form = "".join(words).replace("de" + "le", "du")
            lines.append(f"{first}-{first + len(words) - 1}\t{form}" + "\t_" * 7 + f"\t{misc}")
            misc = "_"
        for word in words:
            forms.append(word)
            places.append(len(lines))
            lines.append(f"{len(forms)}\t{word}" + "\t_" * 7 + f"\t{misc}")
    found = Sentence.from_words(forms)
    found.lines, found.word_lines = lines, places
    return found


def french() -> list[Sentence]:
    nouns = ["chat", "chien", "lion", "parc", "jardin"]
    made = []
    for i, noun in enumerate(nouns * 8):
        made.append(sentence("Le", f"{noun}_", ".", begins=i % 4 == 0))
        made.append(sentence("Voici", "la", "fin", "de+le", f"{noun}_", "!"))
    return made


def tokenized(tokenizer: Tokenizer, text: str) -> list[list[tuple[str, ...]]]:
    return [[token.words for token in tokens] for tokens in next(tokenizer.paragraphs([text]))]


def test_words_tokens_and_sentences_are_learned() -> None:
    tokenizer = train_tokenizer(french())
    found = tokenized(tokenizer, "Voici la fin du tigre! Le tigre. Du parc!")
    assert found[0] == [("Voici",), ("la",), ("fin",), ("de", "le"), ("tigre",), ("!",)]
    assert found[1] == [("Le",), ("tigre",), (".",)]
    assert found[2][0] == ("De", "le")
    assert tokenized(tokenizer, " \n") == []
    again = train_tokenizer(french())
    fields = tokenizer.to_fields()
    assert archive_bytes("again", again.to_fields()) == archive_bytes("again", fields)
    loaded = Tokenizer.from_fields(fields, "here")
    assert tokenized(loaded, "Voici la fin du tigre! Le tigre.") == found[:2]


def test_a_treebank_without_its_text() -> None:
    bare = [Sentence.from_words(s.forms) for s in toy.sentences()]
    assert not is_spaced([surface_tokens(s) for s in bare])
    tokenizer = train_tokenizer(bare)
    text = "She slept . He saw the stars ."
    apart = [[words for (words,) in s] for s in tokenized(tokenizer, text)]
    assert apart == [["She", "slept", "."], ["He", "saw", "the", "stars", "."]]
    unspaced = tokenized(tokenizer, text.replace(" .", "."))
    assert [[words for (words,) in s] for s in unspaced] == apart


def test_a_script_without_blanks() -> None:
    words = ["我", "喜欢", "学习", "中文", "我们", "老师", "学生", "书"]
    made = [
        Sentence.from_words([words[i % 8], words[(3 * i + j) % 8], words[j], "。"])
        for i in range(12)
        for j in range(8)
    ]
    tokenizer = train_tokenizer(made)
    found = tokenized(tokenizer, "我们喜欢书。老师学习中文。")
    assert [[word for (word,) in s] for s in found] == [
        ["我们", "喜欢", "书", "。"],
        ["老师", "学习", "中文", "。"],
    ]


@pytest.fixture(scope="module", params=["Unigram", "WordPiece"])
def states(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    weights: dict[str, np.ndarray],
) -> EncoderStates:
    folder = tmp_path_factory.mktemp("encoder")
    if request.param == "Unigram":
        test_bert.write_encoder(folder, weights, test_unigram.tokenizer(), model_type="roberta")
    else:  # with pieces that need not be at the beginning of a word
        renamed = {"the": "##en", "see": "##see"}
        vocabulary = {renamed.get(piece, piece): i for i, piece in enumerate(test_bert.PIECES)}
        model = {**test_bert.WORDPIECE["model"], "vocab": vocabulary}
        test_bert.write_encoder(folder, weights, {**test_bert.WORDPIECE, "model": model})
    return fit_encoder(folder, made_of_pieces())


def made_of_pieces() -> list[Sentence]:
    """Sentences without blanks, whose words are pieces of the encoder."""
    rng, words = random.Random(1), ["en_", "see_", "see_", "t_", "o_", "u_"]
    return [sentence("x_", *rng.choices(words, k=6), begins=i % 4 == 0) for i in range(80)]


def test_words_that_only_the_encoder_knows(states: EncoderStates) -> None:
    train = made_of_pieces()
    blind, seeing = (train_tokenizer(train, embeddings=source) for source in (None, states))
    text = "xingtosee"
    words = [words for found in tokenized(seeing, text) for words in found]
    assert words == [("x",), ("ing",), ("t",), ("o",), ("see",)]
    assert [words for found in tokenized(blind, text) for words in found] != words
    again = train_tokenizer(train, embeddings=states)
    fields = seeing.to_fields()
    assert archive_bytes("again", again.to_fields()) == archive_bytes("again", fields)
    texts = ["xseex", "enx " * 2000, " ", "\udc80ﬁ\u200bn", text, "中文", "x" * 130, "\x01", "é"]
    alone = [next(seeing.paragraphs([each])) for each in texts]
    assert list(seeing.paragraphs(texts)) == alone


def test_models_with_an_encoder(states: EncoderStates, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bbparse.text.tokenizer_training._SETTINGS", toy.NETWORK)
    foreign = EncoderStates(states.note, states._shift, encoder=SimpleNamespace(process=getpid()))
    for source, expected in ((states, states), (foreign, None), (None, None)):
        for quick in (True, False):
            found = train_text_models(made_of_pieces()[:8], 1, source, quick=quick)
            assert found.tokenizer is not None and found.tokenizer.embeddings is expected
    with pytest.raises(EmbeddingsError, match=f"encoder {states.note['name']}: has no pieces"):
        train_tokenizer(french()[:4], embeddings=foreign)


def test_a_tokenizer_keeps_its_encoder(states: EncoderStates, tmp_path: Path) -> None:
    tokenizer = train_tokenizer(made_of_pieces()[:20], embeddings=states)
    save_tagger(tmp_path / "file", toy.tagger(), tokenizer)
    _, loaded = load_tagger(tmp_path / "file")
    assert loaded is not None and isinstance(loaded.embeddings, EncoderStates)
    assert tokenized(loaded, "xseeenx") == tokenized(tokenizer, "xseeenx")
    fields = tokenizer.to_fields()
    with pytest.raises(ModelError, match="its tokenizer needs pretrained vectors of 32 dim"):
        Tokenizer.from_fields(fields, "here")
    vectors = WordVectors(
        {"dimension": 32}, np.ones(1, np.uint64), np.ones((1, 32), np.int8), np.ones(1, np.float32)
    )
    with pytest.raises(ModelError, match="its tokenizer needs the states of an encoder"):
        Tokenizer.from_fields(fields, "here", vectors)


def test_strange_texts() -> None:
    tokenizer = train_tokenizer(french()[:10])
    for text in ("\0", "\ud800", "x" * 10_000, "😀.", "אבג דהו.", "\u200b", "e\u0301"):
        (tokens,) = tokenizer.lines([text])
        assert "".join(text[t.start : t.end] for t in tokens) == "".join(text.split())


def test_damage() -> None:
    fields = train_tokenizer(french()[:4]).to_fields()
    with pytest.raises(ModelError, match="here: tokenizer: 'tokenizer' is missing"):
        Tokenizer.from_fields({k: v for k, v in fields.items() if k != "tokenizer"}, "here")
    fields["tokenizer"]["allowed"] = 7
    with pytest.raises(ModelError, match="here: the entry tokenizer of the card is damaged"):
        Tokenizer.from_fields(fields, "here")
