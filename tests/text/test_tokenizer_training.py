"""Tokenizers that are trained on a few sentences of text."""

from __future__ import annotations

import pytest

from bbparse.runtime.archive import archive_bytes
from bbparse.runtime.errors import ModelError
from bbparse.text.raw import is_spaced
from bbparse.text.tokenizer import Tokenizer
from bbparse.text.tokenizer_training import train_tokenizer
from bbparse.treebank import Sentence
from bbparse.treebank.sentence import surface_tokens
from tests import toy


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
