"""Recipes for the ends of enhanced labels: which words and features ``obl:in`` comes from."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

from bbparse.models.graph.words import is_relative, lemma_of
from bbparse.runtime.archive import check_entry
from bbparse.runtime.errors import ModelError
from bbparse.treebank.encode import features_of
from bbparse.treebank.sentence import AnyTree

#: Relations of the words that mark a word, in the order in which recipes look for them; adverbs
#: only if they are relative or interrogative.
SOURCES: tuple[tuple[str, ...], ...] = (
    ("case",),
    ("cc",),
    ("mark", "case"),
    ("case", "mark"),
    ("mark", "case", "advmod"),
)
#: Which of several markers are taken.
PICKS = {"first": slice(1), "last": slice(-1, None), "all": slice(None)}
#: Fewest labels with an end, for a relation to have a recipe.
_FEWEST = 10


@lru_cache(10_000)
def _marker_of(label: str) -> str:
    """Return the universal relation of a marker or a part of one; empty for other labels."""
    relation = label.partition(":")[0]
    return relation if relation in ("case", "mark", "cc", "fixed", "advmod") else ""


class Recipe(NamedTuple):
    """How the end of a relation's labels is made; only ends that training saw are."""

    sources: tuple[str, ...] = ()  #: Relations of markers; the first one that a word has counts.
    pick: str = "first"  #: A key of `PICKS`.
    of_form: bool = False  #: Take the form of markers, not the lemma.
    of_next: bool = False  #: Without a marker, take that of the next word of the same relation.
    case: bool = False  #: Add the value of the feature Case.

    def raw(self, marks: Marks, row: int) -> tuple[str, str]:
        """Return the markers of a word, joined, and its case, as they stand in the sentence."""
        found = marks.of(row, self)
        if not found and self.of_next:
            of_others = (marks.of(other, self) for other in marks.following(row))
            found = next(filter(None, of_others), [])
        return "_".join(found[PICKS[self.pick]]), marks.case(row) if self.case else ""


class Marks:
    """The words of trees in flat lists, and their markers; the row of a root precedes each tree."""

    def __init__(self, trees: Sequence[AnyTree]) -> None:
        self.trees = trees
        self.starts = [0]  #: First row of each tree, and the number of rows.
        self.labels: list[str] = []  #: Of each row; empty for a root.
        self.heads: list[int] = []  #: Row of the head of each row; -1 for a root.
        self._feats: list[str] = []
        self._markers: dict[int, list[tuple[int, str]]] = {}
        self._fixed: dict[int, list[int]] = {}
        #: Lemmas and forms of markers and their parts.
        self._texts: tuple[dict[int, str], dict[int, str]] = {}, {}
        lemmas, forms = self._texts
        for sentence, heads, labels in trees:
            start = self.starts[-1]
            self.heads.append(-1)
            self.heads += map(start.__add__, heads)
            self.starts.append(len(self.heads))
            self.labels += ("", *labels)
            self._feats += ("", *sentence.feats)
            for m, relation in enumerate(map(_marker_of, labels)):
                if not relation or (relation == "advmod" and not is_relative(sentence.feats[m])):
                    continue
                row, head = start + m + 1, start + heads[m]
                forms[row] = sentence.forms[m].lower()
                lemmas[row] = lemma_of(sentence.forms[m], sentence.lemmas[m])
                self._markers.setdefault(head, []).append((row, relation))
                if relation == "fixed":
                    self._fixed.setdefault(head, []).append(row)

    def of(self, row: int, recipe: Recipe) -> list[str]:
        """Return the texts of the markers of a word; ``fixed`` words are parts of them."""
        texts, found, markers = self._texts[recipe.of_form], list[str](), self._markers.get(row)
        for source in recipe.sources if markers else ():
            for m, relation in markers or ():
                # a conjunction after its word belongs to a later one
                if relation == source and (source != "cc" or m < row):
                    parts = self._fixed.get(m)
                    words = (m, *parts) if parts else (m,)
                    found.append("_".join(map(texts.__getitem__, words)))
            if found:
                break
        return found

    def following(self, row: int) -> Iterator[int]:
        """Yield the later words with the same head and relation."""
        arc = self.heads[row], self.labels[row]
        for other in range(row + 1, len(self.heads)):
            if self.heads[other] < 0:
                return
            if (self.heads[other], self.labels[other]) == arc:
                yield other

    def case(self, row: int) -> str:
        """Return the case of a word in lower case, empty if it has none."""
        return features_of(self._feats[row]).get("Case", "").lower()


class Ends:
    """The recipe of a relation, and the ends of labels that it may give."""

    def __init__(self, recipe: Recipe, known: Iterable[str], renamed: dict[str, str]) -> None:
        self.recipe, self.renamed = recipe, renamed
        self.known = frozenset(known)
        self._end = lru_cache(10_000)(self._known)

    def __call__(self, marks: Marks, row: int) -> str:
        """Return the end of the label of a word with its colon; empty without one."""
        return self._end(*self.recipe.raw(marks, row))

    def _known(self, markers: str, case: str) -> str:
        markers = self.renamed.get(markers, markers)
        ends = (f"{markers}:{case}".strip(":"), markers, case)
        return next((f":{end}" for end in ends if end in self.known), "")

    def __reduce__(self) -> tuple[Any, ...]:
        return Ends, (self.recipe, self.known, self.renamed)

    def to_entry(self) -> dict[str, Any]:
        """Return the recipe as JSON."""
        return {**self.recipe._asdict(), "known": sorted(self.known), "renamed": self.renamed}

    @classmethod
    def from_entry(cls, entry: dict[str, Any]) -> Ends:
        """Return the recipe of `to_entry`; raises `ModelError`."""
        expected = {"known": list[str], "renamed": dict[str, str], "sources": list[str]}
        for name, kind in {**dict.fromkeys(Recipe._fields, bool), "pick": str, **expected}.items():
            check_entry("the entry graph of the card is damaged", name, entry.get(name), kind)
        recipe = Recipe(**{name: entry[name] for name in Recipe._fields})
        if recipe.pick not in PICKS:
            raise ModelError(f"the entry graph of the card is damaged: pick is {recipe.pick!r}")
        return cls(recipe._replace(sources=tuple(recipe.sources)), entry["known"], entry["renamed"])

    @classmethod
    def learned(cls, marks: Marks, examples: Sequence[tuple[int, str]]) -> Ends | None:
        """Return the best recipe for words and the ends of their labels; None for plain labels."""
        known = Counter(end for _, end in examples if end)
        if known.total() < _FEWEST:
            return None
        candidates = [
            Recipe(*values)
            for values in product(SOURCES, PICKS, (False, True), (False, True), (False, True))
        ]
        candidates.append(Recipe(case=True))
        some = examples[:: max(1, len(examples) // 2000)]
        # the simplest of equally good ones comes first
        best = max(
            candidates,
            key=lambda recipe: cls._fitted(recipe, known, marks, some)._score(marks, some),
        )
        ends = cls._fitted(best, known, marks, examples)
        return ends if ends._score(marks, examples) > sum(not end for _, end in examples) else None

    @classmethod
    def _fitted(
        cls, recipe: Recipe, known: Iterable[str], marks: Marks, examples: Sequence[tuple[int, str]]
    ) -> Ends:
        """Return a recipe with other names for markers whose labels usually differ from them."""
        ends_of: dict[str, Counter[str]] = defaultdict(Counter)
        for row, end in examples:
            markers, case = recipe.raw(marks, row)
            if markers:
                ends_of[markers][end.removesuffix(case).removesuffix(":") if case else end] += 1
        renamed = {}
        for markers, counts in sorted(ends_of.items()):
            (usual, count), *_ = counts.most_common(1)
            if usual != markers and count >= 2 and 2 * count > counts.total():
                renamed[markers] = usual
        return cls(recipe, known, renamed)

    def _score(self, marks: Marks, examples: Sequence[tuple[int, str]]) -> int:
        return sum(self(marks, row).removeprefix(":") == end for row, end in examples)
