"""Output formats of ``bbparse parse``, by name: one text for each sentence.

docs/reference/formats.md has the schema of the records in JSON lines. Within a version, fields may
be added, but none changes or disappears.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from bbparse.runtime.errors import counted
from bbparse.treebank import Sentence, format_sentence
from bbparse.treebank.drawing.layout import printable
from bbparse.treebank.drawing.text import draw_text, painted
from bbparse.treebank.graph import edge_confidences
from bbparse.treebank.sentence import ScoredTree, miscs, multiword_tokens, offsets, surface_tokens
from bbparse.treebank.trees import changed_words

VERSION = 1


def tree_record(tree: ScoredTree) -> dict[str, Any]:
    """Return the record of one tree, as in the schema."""
    return {
        "heads": list(tree.heads),
        "labels": list(tree.labels) or None,
        "score": finite(tree.score),
        "upper_bound": finite(tree.upper_bound),
        "proved": tree.proved,
        "broken": list(tree.broken),
        "confidences": list(tree.confidences) or None,
        "confidence": finite(tree.confidence),
        "runner_up_heads": list(tree.runner_up_heads) or None,
        "top2_probabilities": list(tree.top2_probabilities) or None,
        "enhanced": [[list(edge) for edge in edges] for edges in tree.enhanced] or None,
        "edge_confidences": edge_confidences(tree) or None,
    }


def sentence_record(sentence: Sentence, trees: Sequence[ScoredTree], status: str) -> dict[str, Any]:
    """Return the record of a sentence and its trees, as in the schema."""
    return {
        "version": VERSION,
        "sentence": sentence.name,
        "words": list(sentence.forms),
        **{name: list(getattr(sentence, name)) for name in ("lemmas", "upos", "xpos", "feats")},
        "misc": miscs(sentence),
        "offsets": _offsets(sentence),
        "multiword": [
            {"words": [first, last], "form": cells[1], "misc": cells[-1]}
            for first, last, cells in multiword_tokens(sentence)
        ],
        "status": status,
        "trees": [tree_record(tree) for tree in trees],
    }


def _offsets(sentence: Sentence) -> list[list[int]] | None:
    """Return the span of each word by ``TokenRange``, or in ``# text``; None if neither fits."""
    spans = offsets(sentence)
    if (-1, -1) not in spans:
        return [list(span) for span in spans]
    text, end, found = sentence.written, 0, []
    for token in surface_tokens(sentence):
        start = text.find(token.form, end)
        if start < 0 or text[end:start].strip():
            return None
        end = start + len(token.form)
        found += [[start, end]] * len(token.words)
    return found


def json_line(sentence: Sentence, trees: Sequence[ScoredTree], status: str) -> str:
    """Return the record on one line with its line feed; only control characters are escaped."""
    record = sentence_record(sentence, trees, status)
    text = json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(", ", ": "))
    # JSON does not break lines at these characters, but some readers do.
    for character in "\u0085\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text + "\n"


def finite(value: float) -> float | None:
    """Return a number, or None if it is infinite or nan, which JSON cannot express."""
    return value if math.isfinite(value) else None


@dataclass(frozen=True, slots=True)
class Style:
    """Settings of an output format."""

    k_best: int = 1  #: Number of trees requested; if more than one, each is numbered.
    last: bool = True  #: True if no other sentence follows.
    colour: bool = False  #: Draw trees in colour.


def as_conllu(sentence: Sentence, trees: Sequence[ScoredTree], status: str, style: Style) -> str:
    """Write the sentence once for each of its trees; only HEAD, DEPREL and DEPS change."""
    return "".join([conllu_of(sentence, trees, k, style) for k in range(len(trees))])


def conllu_of(sentence: Sentence, trees: Sequence[ScoredTree], k: int, style: Style) -> str:
    """Write the sentence with its tree k."""
    tree, comments, last = trees[k], list[str](), k == len(trees) - 1
    if style.k_best > 1:
        comments.append(f"tree = {k + 1} of {len(trees)}")
    if style.k_best > 1 or not tree.proved:
        comments.append(f"score = {tree.score:.6f}")
        comments.append(f"upper_bound = {tree.upper_bound:.6f}")
        comments.append(f"proved = {'yes' if tree.proved else 'no'}")
    if tree.confidences:
        comments.append(f"confidence = {tree.confidence:.4f}")
    comments += map("broken_rule = {}".format, tree.broken)
    return format_sentence(
        sentence if last else replace(sentence, after=""),  # one blank line
        tree.heads,
        tree.labels or None,
        comments=comments,
        confidences=tree.confidences,
        deps=["|".join(map("%d:%s".__mod__, edges)) for edges in tree.enhanced],
        first=k == 0,
        last=style.last and last,
    )


def as_tree(sentence: Sentence, trees: Sequence[ScoredTree], status: str, style: Style) -> str:
    """Draw the trees with box characters, under a line with their score and other facts."""
    lines = []
    for k, tree in enumerate(trees):
        title = printable(sentence.name)
        if len(trees) > 1:
            title += f", tree {k + 1} of {len(trees)}"
        facts = [f"score {tree.score:.4f}"]
        if not tree.proved:
            facts.append(f"not proved: at most {tree.upper_bound:.4f}")
        if tree.confidences:
            facts.append(f"confidence {tree.confidence:.2f}")
        facts += [f"breaks {text}" for text in tree.broken]
        changed: list[int] = []
        if k:
            best = trees[0]
            changed = changed_words(tree.heads, best.heads)
            facts.append(f"{best.score - tree.score:.4f} less than the best")
            facts.append(f"{counted(len(changed), 'other head')} *")
        lines.append(painted(f"── {title}: {', '.join(facts)}", "tag", style.colour) + "\n")
        tags = sentence.upos if any(tag != "_" for tag in sentence.upos) else sentence.xpos
        lines.append(
            draw_text(
                sentence.forms, tree.heads, tree.labels, tags, changed=changed, colour=style.colour
            )
        )
        lines.append("\n")
    if not trees:
        lines.append(f"{printable(sentence.name)}: no tree ({status})\n\n")
    return "".join(lines)


Writer: TypeAlias = Callable[[Sentence, Sequence[ScoredTree], str, Style], str]

#: Name of the format → its writer.
FORMATS: dict[str, Writer] = {
    "conllu": as_conllu,
    "jsonl": lambda sentence, trees, status, style: json_line(sentence, trees, status),
    "tree": as_tree,
}
