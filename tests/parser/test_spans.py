"""Words that form one subtree: brackets in MISC, firmly and softly, and what is in their way."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest

from bbparse.parser.spans import Spans
from bbparse.parser.validity.conditions import ArcCondition
from bbparse.parser.validity.repair import RepairOptions, repair
from bbparse.parser.validity.rules import Rule, Rules
from bbparse.runtime.errors import ProblemError, TreebankError
from bbparse.treebank import Sentence, read_conllu
from tests import toy


def bracketed(sentence: Sentence, *brackets: str) -> Sentence:
    """The sentence with an item E in MISC."""
    rows = [line[:-1] for line in Sentence.from_words(sentence.forms).lines]
    rows = [row + (f"A=1|E={b}" if b else "_") for row, b in zip(rows, brackets)]
    return next(read_conllu(io.StringIO("\n".join(rows) + "\n\n")))


SIX = Sentence.from_words(["a"] * 6)


def test_brackets() -> None:
    found = Spans("E").of(bracketed(SIX, "(1-x(2-y", "(3)2)", "", "1)(1-z", "(", ")1)"))
    assert [(span.name, [*span.words]) for span in found] == [
        ("E=(2-y, words 1 to 2", [1, 2]),
        ("E=(1-x, words 1 to 4", [1, 2, 3, 4]),
        ("E=(, words 5 to 6", [5, 6]),
        ("E=(1-z, words 4 to 6", [4, 5, 6]),
    ]
    for wrong, message in (
        (("(1", "2)"), r"line 2, .*: E=2\) closes no span, and \(1 of word 1 is open"),
        (("x", ""), "line 1, .*: E=x: expected brackets"),
    ):
        with pytest.raises(TreebankError, match=message):
            Spans("E").of(bracketed(Sentence.from_words(["a", "b"]), *wrong))
    for text in ("", ":1", "E:", "E:x", "E:-1", "E:nan", "E:inf", "E=x"):
        with pytest.raises(ProblemError, match="expected KEY or KEY:WEIGHT"):
            Spans.parsed(text)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        # an empty node is no word: a span begins with the next one, or ends with the last one
        ("1 2 2.1:(1 3 4:1)", [[3, 4]]),
        ("0.1:(1 1 2:1) 3", [[1, 2]]),
        ("1:(1 2 2.1:1) 3", [[1, 2]]),
        ("1 1.1:(1 1.2:1) 2:(2 3 4:2)", [[2, 3, 4]]),
        # a multiword token has all its words
        ("1 2-3:(1) 2 3 4", [[2, 3]]),
        ("1:(1 2-3:1) 2 3 4", [[1, 2, 3]]),
        ("1-2:(1 1 2 3:1)", [[1, 2, 3]]),
        # mentions across sentences bind nothing; those beside and around them do
        ("1:1) 2:(2 3:2)(3", [[2, 3]]),
        ("1:(2 2:1) 3:2)", [[1, 2, 3]]),
        ("1 2 3:(1", []),
        # the parts of a mention are one span
        ("1:(e1[1/2]-x 2:e1[1/2]) 3 4:(e1[2/2]-x) 5", [[1, 2, 4]]),
    ],
)
def test_brackets_on_any_line(rows: str, expected: list[list[int]]) -> None:
    lines = []
    for row in rows.split():
        number, _, bracket = row.partition(":")
        columns = "a _ _ _ _ _ _ _".replace(" ", "\t")
        lines.append(f"{number}\t{columns}\t{f'E={bracket}' if bracket else '_'}\n")
    (sentence,) = read_conllu(io.StringIO("".join(lines) + "\n"))
    assert [[*span.words] for span in Spans("E").of(sentence)] == expected


def test_trees_have_firm_spans_and_pay_for_soft_ones() -> None:
    parser, changed = toy.reader(), 0
    for sentence in [s for s in toy.dev_sentences() if s.n_words > 5][:8]:
        n = sentence.n_words
        given = parser.tagged(bracketed(sentence, "(1", *[""] * (n // 2), "1)", *[""] * n))
        (span,) = Spans("E").of(given)
        plain, free, soft, firm = (
            parser.parse(given, valid="none", spans=x, prune=0)[0]
            for x in (None, "E:0", "E:2.5", "E")
        )
        assert len(span.entries(firm.heads)) == 1 and free.heads == plain.heads
        paid = plain.score - 2.5 * (len(span.entries(plain.heads)) - 1)
        assert soft.score >= max(paid, firm.score) - 1e-9
        changed += firm.heads != plain.heads
    assert changed


def test_what_is_in_the_way_is_named() -> None:
    parser, sentence = toy.reader(), max(toy.dev_sentences(), key=lambda s: s.n_words)
    n = sentence.n_words
    given = parser.tagged(bracketed(sentence, "(1", "1)(2", "2)", *[""] * (n - 3)))
    given.heads[:2], given.deprels[:2] = [n, n], ["dep", "dep"]
    with pytest.raises(TreebankError, match=r"word 1 must .*, against E=\(1, words 1 to 2$"):
        parser.parse(given, valid="none", spans="E", keep_heads=True)
    a, b = sentence.forms[:2]
    pair = [ArcCondition.parse(f"head.form={x} mod.form={y}") for x, y in ((a, b), (b, a))]
    rules = Rules([Rule("apart", (*pair,))])
    tree, *_ = parser.parse(given, spans="E", valid=rules)
    (fault,) = tree.broken
    assert fault.startswith("apart, against E=(1, words 1 to 2: word ")
    for weight in (None, 10.0):
        options = RepairOptions(spans=Spans("E", weight))
        given = replace(given, heads=[*tree.heads], deprels=[*tree.labels])
        fixed = repair(given, rules, options=options)
        names = [fault.name for fault in fixed.after]
        assert names == ([] if weight else ["apart, against E=(1, words 1 to 2"])
