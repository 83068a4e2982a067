"""Recipes for the ends of enhanced labels: which words and features ``obl:in`` comes from."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

from bbparse.models.graph.words import AnyTree, features_of, is_relative, lemma_of
from bbparse.runtime.archive import check_entry
from bbparse.runtime.errors import ModelError

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
PICKS: dict[str, Callable[[list[str]], list[str]]] = {
    "first": lambda words: words[:1],
    "last": lambda words: words[-1:],
    "all": lambda words: words,
}
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

    def raw(self, marks: Marks, word: int) -> tuple[str, str]:
        """Return the markers of a word, joined, and its case, as they stand in the sentence."""
        found = marks.of(word, self)
        if not found and self.of_next:
            following = (m for m in marks.alike(word) if m > word)
            found = next((own for m in following if (own := marks.of(m, self))), [])
        return "_".join(PICKS[self.pick](found)), marks.case(word) if self.case else ""


class Marks:
    """Markers of the words of a tree."""

    def __init__(self, tree: AnyTree) -> None:
        self.sentence, self.heads, self.labels = tree
        self.children: dict[int, list[tuple[int, str]]] = {}
        for m, relation in enumerate(map(_marker_of, self.labels), start=1):
            if relation and (relation != "advmod" or is_relative(self.sentence.feats[m - 1])):
                self.children.setdefault(self.heads[m - 1], []).append((m, relation))

    def of(self, word: int, recipe: Recipe) -> list[str]:
        """Return the texts of the markers of a word; ``fixed`` words are parts of them."""
        children = self.children.get(word)
        if children is None:
            return []
        for source in recipe.sources:
            # a conjunction after its word belongs to a later one
            found = [
                m for m, relation in children if relation == source and (source != "cc" or m < word)
            ]
            if found:
                return ["_".join(self._texts(m, recipe.of_form)) for m in found]
        return []

    def _texts(self, word: int, of_form: bool) -> Iterator[str]:
        parts = [m for m, relation in self.children.get(word, ()) if relation == "fixed"]
        for m in (word, *parts):
            form = self.sentence.forms[m - 1]
            yield form.lower() if of_form else lemma_of(form, self.sentence.lemmas[m - 1])

    def alike(self, word: int) -> list[int]:
        """Return the words with the same head and relation, the word included."""
        own = (self.heads[word - 1], self.labels[word - 1])
        return [m for m, arc in enumerate(zip(self.heads, self.labels), start=1) if arc == own]

    def case(self, word: int) -> str:
        """Return the case of a word in lower case, empty if it has none."""
        return features_of(self.sentence.feats[word - 1]).get("Case", "").lower()


class Ends:
    """The recipe of a relation, and the ends of labels that it may give."""

    def __init__(self, recipe: Recipe, known: Iterable[str], renamed: dict[str, str]) -> None:
        self.recipe, self.renamed = recipe, renamed
        self.known = frozenset(known)
        self._end = lru_cache(10_000)(self._known)

    def __call__(self, marks: Marks, word: int) -> str:
        """Return the end of the label of a word with its colon; empty without one."""
        return self._end(*self.recipe.raw(marks, word))

    def _known(self, markers: str, case: str) -> str:
        markers = self.renamed.get(markers, markers)
        ends = (f"{markers}:{case}".strip(":"), markers, case)
        return next((f":{end}" for end in ends if end in self.known), "")

    def __reduce__(self) -> tuple[Any, ...]:
        return Ends, (self.recipe, self.known, self.renamed)

    def to_card(self) -> dict[str, Any]:
        """Return the recipe as JSON."""
        return {**self.recipe._asdict(), "known": sorted(self.known), "renamed": self.renamed}

    @classmethod
    def from_card(cls, card: dict[str, Any]) -> Ends:
        """Return the recipe of `to_card`; raises `ModelError`."""
        expected = {"known": list[str], "renamed": dict[str, str], "sources": list[str]}
        for name, kind in {**dict.fromkeys(Recipe._fields, bool), "pick": str, **expected}.items():
            check_entry("the entry graph of the card is damaged", name, card.get(name), kind)
        recipe = Recipe(**{name: card[name] for name in Recipe._fields})
        if recipe.pick not in PICKS:
            raise ModelError(f"the entry graph of the card is damaged: pick is {recipe.pick!r}")
        return cls(recipe._replace(sources=tuple(recipe.sources)), card["known"], card["renamed"])

    @classmethod
    def learned(cls, examples: Sequence[tuple[Marks, int, str]]) -> Ends | None:
        """Return the best recipe for words and the ends of their labels; None for plain labels."""
        known = Counter(end for _, _, end in examples if end)
        if known.total() < _FEWEST:
            return None
        candidates = [
            Recipe(*values)
            for values in product(SOURCES, PICKS, (False, True), (False, True), (False, True))
        ]
        candidates.append(Recipe(case=True))
        some = examples[:: max(1, len(examples) // 2000)]
        # the simplest of equally good ones comes first
        best = max(candidates, key=lambda recipe: cls._fitted(recipe, known, some)._score(some))
        ends = cls._fitted(best, known, examples)
        return ends if ends._score(examples) > sum(not end for _, _, end in examples) else None

    @classmethod
    def _fitted(
        cls, recipe: Recipe, known: Iterable[str], examples: Sequence[tuple[Marks, int, str]]
    ) -> Ends:
        """Return a recipe with other names for markers whose labels usually differ from them."""
        ends_of: dict[str, Counter[str]] = defaultdict(Counter)
        for marks, word, end in examples:
            markers, case = recipe.raw(marks, word)
            if markers:
                ends_of[markers][end.removesuffix(case).removesuffix(":") if case else end] += 1
        renamed = {}
        for markers, counts in sorted(ends_of.items()):
            (usual, count), *_ = counts.most_common(1)
            if usual != markers and count >= 2 and 2 * count > counts.total():
                renamed[markers] = usual
        return cls(recipe, known, renamed)

    def _score(self, examples: Sequence[tuple[Marks, int, str]]) -> int:
        return sum(self(marks, word).removeprefix(":") == end for marks, word, end in examples)
