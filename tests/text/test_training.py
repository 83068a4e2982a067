"""Cutters that are trained on a few sentences of text."""

from __future__ import annotations

import pytest

from bbparse.errors import ModelError, TreebankError
from bbparse.text import Cutter, train_cutter
from bbparse.text.raw import is_spaced, with_guessed_blanks
from bbparse.text.training import texts_of
from bbparse.treebank import Sentence
from bbparse.treebank.sentence import pieces
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


def cut(cutter: Cutter, text: str) -> list[list[tuple[str, ...]]]:
    return [[token.words for token in found] for found in cutter.paragraph(text)]


def test_words_tokens_and_sentences_are_learned() -> None:
    cutter = train_cutter(french())
    found = cut(cutter, "Voici la fin du tigre! Le tigre. Du parc!")
    assert found[0] == [("Voici",), ("la",), ("fin",), ("de", "le"), ("tigre",), ("!",)]
    assert found[1] == [("Le",), ("tigre",), (".",)]
    assert found[2][0] == ("De", "le")
    assert cut(cutter, " \n") == []
    again = train_cutter(french())
    arrays = cutter.to_arrays()
    assert {name: array.tobytes() for name, array in again.to_arrays().items()} == {
        name: array.tobytes() for name, array in arrays.items()
    }
    loaded = Cutter.from_arrays(arrays, "here")
    assert cut(loaded, "Voici la fin du tigre! Le tigre.") == found[:2]


def test_what_text_says() -> None:
    (text, *_) = texts_of(french())
    assert text.text.startswith("Le chat. Voici la fin du chat! Le chien.")
    assert [text.text[a:b] for a, b in text.spans][:4] == ["Le", "chat", ".", "Voici"]
    assert text.words[6] == ("de", "le")
    assert [i for i, end in enumerate(text.ends) if end][:2] == [2, 8]


def test_words_that_are_not_in_the_text_of_the_comments() -> None:
    other = french()
    for one in other:
        one.lines = ["# text = something else", *one.lines]
        one.word_lines = [line + 1 for line in one.word_lines]
    assert [text.text for text in texts_of(other)] == [text.text for text in texts_of(french())]


def test_a_treebank_without_its_text() -> None:
    bare = [Sentence.from_words(s.forms) for s in toy.sentences()]
    assert not is_spaced([pieces(s) for s in bare])
    cutter = train_cutter(bare)
    text = "She slept . He saw the stars ."
    apart = [[words for (words,) in some] for some in cut(cutter, text)]
    assert apart == [["She", "slept", "."], ["He", "saw", "the", "stars", "."]]
    assert [[words for (words,) in s] for s in cut(cutter, text.replace(" .", "."))] == apart


def test_blanks_as_they_are_usual() -> None:
    def guessed(*forms: str) -> str:
        made = with_guessed_blanks(pieces(Sentence.from_words(forms)))
        return "".join(piece.form + " " * piece.blank for piece in made)

    assert guessed("He", "said", ",", '"', "No", '"', "(", "twice", ")", ".") == (
        'He said, "No" (twice). '
    )
    assert guessed("我", "喜欢", "书", "。") == "我喜欢书。"


def test_a_script_without_blanks() -> None:
    words = ["我", "喜欢", "学习", "中文", "我们", "老师", "学生", "书"]
    made = [
        Sentence.from_words([words[i % 8], words[(3 * i + j) % 8], words[j], "。"])
        for i in range(12)
        for j in range(8)
    ]
    cutter = train_cutter(made)
    found = cut(cutter, "我们喜欢书。老师学习中文。")
    assert [[word for (word,) in some] for some in found] == [
        ["我们", "喜欢", "书", "。"], ["老师", "学习", "中文", "。"],
    ]  # fmt: skip


def test_strange_texts() -> None:
    cutter = train_cutter(french()[:10])
    for text in ("\0", "\ud800", "x" * 10_000, "😀.", "אבג דהו.", "\u200b", "e\u0301"):
        tokens = cutter.tokens(text)
        assert "".join(text[t.start : t.end] for t in tokens) == "".join(text.split())


def test_nothing_to_learn_from_and_damage() -> None:
    with pytest.raises(TreebankError, match="no sentences"):
        train_cutter([])
    arrays = train_cutter(french()[:4]).to_arrays()
    with pytest.raises(ModelError, match="here: field cutter_header of the cutter is missing"):
        Cutter.from_arrays({k: v for k, v in arrays.items() if k != "cutter_header"}, "here")
    arrays["cutter_header"] = arrays["cutter_header"].astype("U9")
    with pytest.raises(ModelError, match="here: header of the cutter is damaged"):
        Cutter.from_arrays(arrays, "here")
