"""Pseudo-projective trees: crossing arcs lifted until none cross, and labels that lead back.

    python bench/pseudo_projective.py encode GOLD.conllu LIFTED.conllu
    python bench/pseudo_projective.py decode PARSED.conllu TREES.conllu
    python bench/pseudo_projective.py check GOLD.conllu

The baseline of parsers that draw projective trees only (Nivre & Nilsson 2005, "Pseudo-projective
dependency parsing"), with their encoding `head`: an arc h→m that crosses another is lifted to the
head of h, the shortest one first, and m gets the label m|h of both labels. A parser learns and
gives such labels; `decode` looks below the head that m has, level by level and from the left, for a
word with label h. `check` says how many gold trees come back: the most that such a parser finds.
"""

from __future__ import annotations

import argparse

from bbparse.treebank import Sentence, is_projective, read_conllu
from bbparse.treebank.sentence import crossing_words
from bbparse.treebank.writing import format_sentence

MARK = "|"


def _below(heads: list[int], top: int) -> set[int]:
    """A word and its descendants."""
    found = {top}
    while True:
        more = {m for m, h in enumerate(heads, 1) if h in found} - found
        if not more:
            return found
        found |= more


def encode(heads: list[int], labels: list[str]) -> tuple[list[int], list[str]]:
    """A projective tree, and labels that say what was lifted."""
    own, heads, labels = labels, list(heads), list(labels)
    while not is_projective(heads):
        crossing = []
        for m, h in enumerate(heads, 1):
            between = range(min(h, m) + 1, max(h, m))
            if h > 0 and not _below(heads, h).issuperset(between):
                crossing.append((len(between), m))
        _, m = min(crossing)
        if MARK not in labels[m - 1]:
            labels[m - 1] += MARK + own[heads[m - 1] - 1]
        heads[m - 1] = heads[heads[m - 1] - 1]
    return heads, labels


def decode(heads: list[int], labels: list[str]) -> tuple[list[int], list[str]]:
    """The tree that the labels of a projective one lead to; labels without what they say of it."""
    heads = list(heads)
    own, wanted = zip(*(label.partition(MARK)[::2] for label in labels))
    for m, label in enumerate(wanted, 1):
        inside = _below(heads, m)
        level = [heads[m - 1]] if label else []
        while level:
            level = [c for c, h in enumerate(heads, 1) if h in level and c not in inside]
            match = [c for c in level if own[c - 1] == label]
            if match:
                heads[m - 1] = match[0]
                break
    return heads, list(own)


def _kept(sentence: Sentence) -> bool:
    """Whether a gold tree comes back."""
    return decode(*encode(sentence.heads, sentence.deprels))[0] == sentence.heads


def main() -> None:
    """Convert a file, or check one."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("task", choices=("encode", "decode", "check"))
    parser.add_argument("source")
    parser.add_argument("target", nargs="?")
    given = parser.parse_args()
    sentences = list(read_conllu(given.source))
    if given.task == "check":
        some = [sentence for sentence in sentences if crossing_words(sentence.heads)]
        print(f"{sum(map(_kept, some))} of {len(some)} trees with crossing arcs come back")
        return
    if given.target is None:
        parser.error(f"{given.task} needs a file to write to")
    convert = encode if given.task == "encode" else decode
    with open(given.target, "w", encoding="utf-8", newline="") as target:
        for sentence in sentences:
            target.write(format_sentence(sentence, *convert(sentence.heads, sentence.deprels)))


if __name__ == "__main__":
    main()
