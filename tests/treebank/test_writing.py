"""What else changes in a line when a tree is written."""

from __future__ import annotations

import io

from bbparse.treebank import Sentence, read_conllu
from bbparse.treebank.writing import format_sentence


def read(text: str) -> list[Sentence]:
    return list(read_conllu(io.StringIO(text, newline="")))


def test_graphs_of_another_tree_are_left_out() -> None:
    rows = (
        "1\tI\t_\t_\t_\t_\t2\tnsubj\t2:nsubj|2.1:nsubj\tX=1",
        "2\tsaw\t_\t_\t_\t_\t0\troot\t0:root\t_",
        "2.1\tsaw\t_\t_\t_\t_\t_\t_\t2:conj\tCopyOf=2",
        "3-4\ther.\t_\t_\t_\t_\t_\t_\t_\t_",
        "3\ther\t_\t_\t_\t_\t2\tobj\t2:obj\t_",
        "4\t.\t_\t_\t_\t_\t2\tpunct\t2:punct\t_",
    )
    text = "# text = 1.2 I saw her.\n" + "\n".join(rows) + "\n\n"
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
