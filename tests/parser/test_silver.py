"""Raw text that a teacher labels, in a file that goes on after an interruption."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bbparse.parser.parser import Parser
from bbparse.parser.silver import check_raw, check_teacher, label_text
from bbparse.runtime.errors import ModelError, TreebankError
from bbparse.text.raw import plain_text
from bbparse.text.silver import likely_in
from bbparse.treebank import read_conllu
from tests import toy


def raw_text(folder: Path) -> list[str]:
    """Two files of running text."""
    texts = plain_text(toy.dev_sentences()), plain_text(toy.sentences()[:60])
    paths = [folder / f"{i}.txt" for i in range(2)]
    for path, text in zip(paths, texts):
        path.write_text(text, encoding="utf-8")
    return [str(path) for path in paths]


def test_trees_are_those_of_the_teacher_and_interruptions_do_not_show(tmp_path: Path) -> None:
    teacher, sources = toy.reader(), raw_text(tmp_path)
    silver = label_text(teacher, sources, tmp_path / "whole", "digest")
    whole = (tmp_path / "whole").read_bytes()
    sentences = list(read_conllu(silver.path))
    assert whole.count(b"# silver section = ") > 2
    words = toy.bare(sentences[0])
    (parse,) = teacher.parse_all(teacher.tag([words]))
    assert list(parse.trees[0].heads) == sentences[0].heads
    for end in (0, 100, len(whole) // 2, whole.rindex(b"# silver section") + 5, len(whole) - 1):
        (tmp_path / "again.part").write_bytes(whole[:end])
        label_text(teacher, sources, tmp_path / "again", "digest")
        assert (tmp_path / "again").read_bytes() == whole
        assert not (tmp_path / "again.part").exists()
        (tmp_path / "again").unlink()


def test_a_network_says_what_is_likely(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("I saw the man with the telescope.\n\nTime flies like an arrow.\n")
    silver = label_text(Parser.load("english"), [str(text)], tmp_path / "silver", "digest")
    sentences = list(read_conllu(silver.path))
    assert [sentence.n_words for sentence in sentences] == [8, 6]
    for sentence in sentences:
        for label, row in zip(sentence.deprels, likely_in(sentence)["labels"], strict=True):
            shares = [(1000, row)] if isinstance(row, str) else [*zip(row[1::2], row[::2])]
            assert label == max(shares)[1] or label == "root"
            assert abs(sum(share for share, _ in shares) - 1000) < 20
    assert any(isinstance(row, list) for row in likely_in(sentences[0])["heads"])


def test_a_finished_file_is_not_made_again(tmp_path: Path) -> None:
    (tmp_path / "done").write_text("", encoding="utf-8")
    assert label_text(toy.reader(), ["missing.txt"], tmp_path / "done", "x").digest == "x"


def test_text_is_checked_first(tmp_path: Path) -> None:
    one, two = raw_text(tmp_path)
    assert check_raw([one, two]) != check_raw([two, one])
    empty, latin = tmp_path / "empty.txt", tmp_path / "latin.txt"
    empty.write_text(" \n\n", encoding="utf-8")
    latin.write_bytes("fine\ncafé\n".encode("latin-1"))
    for path, message in (
        (empty, "empty.txt: no words, expected running text"),
        (latin, "latin.txt, line 2: byte 4 of the line is 0xe9, expected text in UTF-8"),
        (toy.DEV, r"conllu, line 3: a word of CoNLL-U, expected running text"),
        (tmp_path / "missing.txt", "missing.txt: cannot be read"),
    ):
        with pytest.raises(TreebankError, match=message):
            check_raw([one, str(path)])


def test_a_teacher_must_read_text_and_know_the_labels() -> None:
    gold = toy.sentences()
    check_teacher("good", toy.reader(), gold)
    with pytest.raises(ModelError, match="tokenizer"):
        check_teacher("bare", toy.parser(), gold)
    silent = Parser(replace(toy.reader().model, tagger=None))
    with pytest.raises(ModelError, match="silent: a teacher needs a tagger and labels"):
        check_teacher("silent", silent, gold)
    few = [replace(s, deprels=["root"] * s.n_words) for s in gold]
    label = sorted(set(toy.reader().model.labeller.labels) - {"root"})[0]
    with pytest.raises(ModelError, match=f"other: the teacher's label {label} is not"):
        check_teacher("other", toy.reader(), few)
