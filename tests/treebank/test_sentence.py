"""Sentences: their trees, and how they are written."""

from __future__ import annotations

import io
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbparse.treebank import Sentence, format_sentence, is_projective, read_conllu
from bbparse.treebank.trees import crossing_words, find_cycle
from bbparse.treebank.writing import with_tree


def test_from_words_and_back() -> None:
    sentence = Sentence.from_words(
        ["Birds", "sing"],
        upos=["NOUN", "VERB"],
        lemmas=["bird", "sing"],
        heads=[2, 0],
        deprels=["nsubj", "root"],
        name="birds-1",
    )
    assert sentence.name == "birds-1"
    assert sentence.text == "Birds sing"
    (again,) = read_conllu(io.StringIO(format_sentence(sentence)), require_heads=True)
    again.source = sentence.source
    assert again == sentence


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"forms": []}, "forms: a sentence has at least one word"),
        ({"forms": ["a"], "upos": ["X", "Y"]}, "upos: expected 1 values, found 2"),
        ({"forms": ["a", "b\tc"]}, r"forms\[1\]: expected text that is not blank, without tabs"),
        ({"forms": ["a", ""]}, r"forms\[1\]: expected text"),
        ({"forms": ["a", " "]}, r"forms\[1\]: expected text"),
        ({"forms": ["a", None]}, r"forms\[1\]: expected text .* found None"),
        ({"forms": ["a", "b"], "heads": [None, 1]}, r"heads\[0\]: expected -1 to 2, found None"),
        ({"forms": ["a"], "heads": [0.0]}, r"heads\[0\]: expected -1 to 1, found 0.0"),
        ({"forms": ["a"], "heads": [2]}, r"heads\[0\]: expected -1 to 1, found 2"),
        ({"forms": ["a"], "heads": [0, 1]}, "heads: expected 1 values, found 2"),
        ({"forms": ["a"], "name": "a\nb"}, r"name\[0\]: expected text"),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Sentence.from_words(**arguments)


def crosses(heads: list[int]) -> bool:
    arcs = [(min(h, m), max(h, m)) for m, h in enumerate(heads, 1) if h >= 0]
    return any(a < c < b < d for a, b in arcs for c, d in arcs)


def has_cycle(heads: list[int]) -> bool:
    for word in range(1, len(heads) + 1):
        for _ in range(len(heads) + 1):
            if word <= 0:
                break
            word = heads[word - 1]
        if word > 0:
            return True
    return False


def check(heads: list[int]) -> None:
    assert is_projective(heads) is not crosses(heads)
    cycle = find_cycle(heads)
    assert bool(cycle) is has_cycle(heads)
    for word, head in zip(cycle, [*cycle[1:], *cycle[:1]]):
        assert heads[word - 1] == head
    assert len(set(cycle)) == len(cycle)


def test_all_heads_of_short_sentences() -> None:
    for n in range(5):
        for heads in product(range(-1, n + 1), repeat=n):
            check(list(heads))


@given(st.lists(st.integers(-1, 7), min_size=7, max_size=7))
def test_words_whose_arcs_cross(heads: list[int]) -> None:
    spans = {m: (min(h, m), max(h, m)) for m, h in enumerate(heads, 1) if h >= 0}
    expected = {
        m
        for m, (a, b) in spans.items()
        if any(a < c < b < d or c < a < d < b for c, d in spans.values())
    }
    assert crossing_words(heads) == expected
    assert bool(expected) == crosses(heads)


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


def test_graphs_keep_what_no_changed_arc_is() -> None:
    text = with_rows(
        "her.", "3\ther\t_\t_\t_\t_\t2\tobj\t2:obj\t_", "4\t.\t_\t_\t_\t_\t2\tpunct\t2:punct\t_"
    )
    for end in ("\n", "\r\n"):
        own = text.replace("\n", end)
        (sentence,) = read(own)
        assert format_sentence(sentence, sentence.heads, sentence.deprels) == own
        for heads, labels, graph in (
            ([2, 0, 1, 2], sentence.deprels, "1:obj"),
            (sentence.heads, ["nsubj", "root", "iobj", "punct"], "2:iobj"),
            ([2, 0, -1, 2], ["nsubj", "root", "_", "punct"], "_"),
        ):
            (again,) = read(format_sentence(sentence, heads, labels))
            assert (again.heads, again.deprels) == (heads, labels)
            old = [line.split("\t") for line in sentence.lines[1:]]
            new = [line.split("\t") for line in again.lines[1:]]
            assert new[4][8] == graph
            assert [c[:6] + c[9:] for c in new] == [c[:6] + c[9:] for c in old]
            assert new[:4] + new[5:] == old[:4] + old[5:]
            assert again.lines[0] == sentence.lines[0]
    # CoNLL-X has PHEAD and PDEPREL there
    plain = "1\tA\t_\tN\tN\t_\t2\tsb\t2\tsb\n2\tB\t_\tV\tV\t_\t0\troot\t0\troot\n\n"
    (sentence,) = read(plain)
    assert format_sentence(sentence, [2, 0], ["sb", "root"]) == plain
    assert format_sentence(sentence, [0, 1]).splitlines() == [
        "1\tA\t_\tN\tN\t_\t0\tsb\t_\t_",
        "2\tB\t_\tV\tV\t_\t1\troot\t_\t_",
        "",
    ]


def test_another_tree_changes_the_words_that_differ() -> None:
    text = with_rows(
        "atit.",
        "3\tat\t_\t_\t_\t_\t2\tcase\t_\t_",
        "4\tit\t_\t_\t_\t_\t2\tobl\t2.1:conj|2:obl:at\t_",
    )
    for end in ("\n", "\r\n"):
        (sentence,) = read(text.replace("\n", end))
        same = with_tree(sentence, sentence.heads, sentence.deprels)
        assert same.lines == sentence.lines
        labels = ["nsubj", "root", "case", "obl"]
        for heads, last, changed in (
            ([2, 0, 2, 3], "obl", {6: ("3", "obl", "2.1:conj|3:obl:at")}),
            ([2, 0, 2, 2], "nmod", {6: ("2", "nmod", "2:nmod|2.1:conj")}),
            ([3, 0, 4, 2], "obl", {1: ("3", "nsubj", "2.1:nsubj|3:nsubj"), 5: ("4", "case", "_")}),
        ):
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


def test_graphs_stay_connected() -> None:
    """What hung on an empty node alone hangs on the tree, if the node now hangs on it."""
    text = (
        "1\tI\t_\t_\t_\t_\t0\troot\t0:root\t_\n1.1\tgo\t_\t_\t_\t_\t_\t_\t2:conj\t_\n"
        "2\tsee\t_\t_\t_\t_\t1\tdep\t1:dep\t_\n3\tit\t_\t_\t_\t_\t1\tobj\t1.1:obj\t_\n\n"
    )
    (sentence,) = read(text)
    graphs = [
        cells.split("\t")[8]
        for cells in with_tree(sentence, [0, 3, 1], ["root", "dep", "obj"]).lines
    ]
    assert graphs == ["0:root", "2:conj", "3:dep", "1:obj|1.1:obj"]
    graphs = [
        cells.split("\t")[8]
        for cells in with_tree(sentence, [3, 3, 0], ["dep", "dep", "root"]).lines
    ]
    assert graphs == ["3:dep", "2:conj", "3:dep", "0:root|1.1:obj"]
