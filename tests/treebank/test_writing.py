"""What else changes in a line when a tree is written."""

from __future__ import annotations

import io

from bbparse.treebank import Sentence, read_conllu
from bbparse.treebank.writing import format_sentence, with_tree


def read(text: str) -> list[Sentence]:
    return list(read_conllu(io.StringIO(text, newline="")))


def with_rows(token: str, *words: str) -> str:
    """A sentence with an empty node and enhanced graphs, which ends in one token of two words."""
    rows = (
        "1\tI\t_\t_\t_\t_\t2\tnsubj\t2:nsubj|2.1:nsubj\tX=1",
        "2\tsaw\t_\t_\t_\t_\t0\troot\t0:root\t_",
        "2.1\tsaw\t_\t_\t_\t_\t_\t_\t2:conj\tCopyOf=2",
        f"3-4\t{token}\t_\t_\t_\t_\t_\t_\t_\t_",
    )
    return "\n".join([f"# text = 1.2 I saw {token}", *rows, *words, "", ""])


def test_graphs_of_another_tree_are_left_out() -> None:
    text = with_rows(
        "her.", "3\ther\t_\t_\t_\t_\t2\tobj\t2:obj\t_", "4\t.\t_\t_\t_\t_\t2\tpunct\t2:punct\t_"
    )
    for end in ("\n", "\r\n"):
        own = text.replace("\n", end)
        (sentence,) = read(own)
        assert format_sentence(sentence, sentence.heads, sentence.deprels) == own
        for heads, labels in (
            ([2, 0, 1, 2], sentence.deprels), (sentence.heads, ["nsubj", "root", "iobj", "punct"])
        ):  # fmt: skip
            (again,) = read(format_sentence(sentence, heads, labels))
            assert (again.heads, again.deprels) == (heads, labels)
            old = [line.split("\t") for line in sentence.lines[1:]]
            new = [line.split("\t") for line in again.lines[1:]]
            assert [cells[8] for cells in new] == ["_"] * 6
            assert [c[:6] + c[9:] for c in new] == [c[:6] + c[9:] for c in old]
            assert again.lines[0] == sentence.lines[0]
    # CoNLL-X has PHEAD and PDEPREL there
    plain = "1\tA\t_\tN\tN\t_\t2\tsb\t2\tsb\n2\tB\t_\tV\tV\t_\t0\troot\t0\troot\n\n"
    (sentence,) = read(plain)
    assert format_sentence(sentence, [2, 0], ["sb", "root"]) == plain
    assert format_sentence(sentence, [0, 1]).splitlines() == [
        "1\tA\t_\tN\tN\t_\t0\tsb\t_\t_", "2\tB\t_\tV\tV\t_\t1\troot\t_\t_", "",
    ]  # fmt: skip


def test_another_tree_changes_the_words_that_differ() -> None:
    text = with_rows(
        "atit.", "3\tat\t_\t_\t_\t_\t2\tcase\t_\t_",
        "4\tit\t_\t_\t_\t_\t2\tobl\t2.1:conj|2:obl:at\t_",
    )  # fmt: skip
    for end in ("\n", "\r\n"):
        (sentence,) = read(text.replace("\n", end))
        same = with_tree(sentence, sentence.heads, sentence.deprels)
        assert same.lines == sentence.lines
        labels = ["nsubj", "root", "case", "obl"]
        for heads, last, changed in (
            ([2, 0, 2, 3], "obl", {6: ("3", "obl", "2.1:conj|3:obl:at")}),
            ([2, 0, 2, 2], "nmod", {6: ("2", "nmod", "2:nmod|2.1:conj")}),
            ([3, 0, 4, 2], "obl", {1: ("3", "nsubj", "2.1:nsubj|3:nsubj"), 5: ("4", "case", "_")}),
        ):  # fmt: skip
            labels[3] = last
            new = with_tree(sentence, heads, labels)
            assert (new.heads, new.deprels) == (heads, labels)
            (again,) = read("\n".join(new.lines) + "\n\n")
            assert (again.heads, again.deprels) == (heads, labels)
            for i, (old, line) in enumerate(zip(sentence.lines, new.lines)):
                cells = line.split("\t")
                if i in changed:
                    assert tuple(cells[6:9]) == changed[i]
                    cells[6:9] = old.split("\t")[6:9]
                assert "\t".join(cells) == old
    (odd,) = read("1\ta\t_\t_\t_\t_\t0\troot\tx|0:root|a:b\t_\n\n")
    assert with_tree(odd, [0], ["dep"]).lines[0].split("\t")[8] == "x|a:b|0:dep"
