"""Parsed text: a `Document` of `ParsedSentence` objects, each with its `Tree` objects.

They are shown as text in a terminal and as SVG in a notebook, and convert to CoNLL-U and to plain
dictionaries.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple, overload

from bbparse.runtime.errors import counted
from bbparse.treebank import Sentence
from bbparse.treebank.drawing.formats import VERSION, Style, as_conllu, as_tree, sentence_record
from bbparse.treebank.drawing.svg import draw_svg, markup
from bbparse.treebank.drawing.text import draw_text
from bbparse.treebank.graph import WordEdge, edge_confidences
from bbparse.treebank.sentence import ScoredTree, miscs, offsets


class Word(NamedTuple):
    """A word and its place in a tree. Unknown columns are ``_``."""

    id: int  #: Its number, from 1.
    form: str
    lemma: str
    upos: str
    xpos: str
    feats: str
    head: int  #: Number of its head, 0 for the root.
    label: str  #: The label of the arc from the head; empty if the model has no labels.
    confidence: float = math.nan  #: The probability that the arc is right; nan if not requested.
    misc: str = "_"
    start: int = -1  #: Offset of its first character in the text; -1 if unknown.
    end: int = -1
    children: tuple[int, ...] = ()  #: Numbers of its modifiers, in order.
    runner_up_head: int = -1  #: The second-best head; -1 if there is none or it was not requested.
    top2_probability: float = math.nan  #: The probability that head or runner-up is right.
    #: (head, label) pairs of the word in the enhanced graph; empty if the tree has none.
    heads: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tree(ScoredTree):
    """One tree of a sentence: a `ScoredTree` with its sentence and methods that draw it.

    ``len(tree)`` is the number of words. Iteration yields each word as a `Word`.
    """

    sentence: Sentence = field(kw_only=True)
    rank: int = field(default=1, kw_only=True)  #: 1 for the best tree.

    def __len__(self) -> int:
        return len(self.heads)

    def __iter__(self) -> Iterator[Word]:
        s = self.sentence
        labels = self.labels or ("",) * len(self)
        confidences = self.confidences or (math.nan,) * len(self)
        children: list[list[int]] = [[] for _ in range(len(self) + 1)]
        for modifier, head in enumerate(self.heads, start=1):
            children[head].append(modifier)
        n = len(self)
        second = zip(self.runner_up_heads or (-1,) * n, self.top2_probabilities or (math.nan,) * n)
        graph = self.enhanced or ((),) * len(self)
        rows = zip(self.heads, labels, confidences, miscs(s), zip(offsets(s), second))
        for i, (head, label, chance, misc, (place, (runner_up, top2))) in enumerate(rows):
            yield Word(
                i + 1,
                s.forms[i],
                s.lemmas[i],
                s.upos[i],
                s.xpos[i],
                s.feats[i],
                head,
                label,
                chance,
                misc,
                *place,
                tuple(children[i + 1]),
                runner_up,
                top2,
                graph[i],
            )

    @property
    def graph(self) -> list[WordEdge]:
        """The edges of the enhanced graph, by dependent; none if the model makes no graphs."""
        words = enumerate(self.enhanced, start=1)
        return [WordEdge(*edge, m) for m, edges in words for edge in edges]

    @property
    def edge_confidences(self) -> list[float]:
        """The probability of each edge of `graph`; none if confidences were not requested."""
        return [value for values in edge_confidences(self) for value in values]

    @property
    def words(self) -> list[Word]:
        """The words, each with its head and label in this tree."""
        return list(self)

    @property
    def root(self) -> Word:
        """The first word whose head is the root."""
        return next(word for word in self if word.head == 0)

    def to_svg(self, title: str = "", *, against: Tree | None = None, graph: bool = False) -> str:
        """Draw the tree as an SVG image with a title, by default one that names the words.

        Arcs that only the tree ``against`` of the same sentence has, or with ``graph`` the edges
        that only the enhanced graph has, are drawn dashed below the words; `ValueError` if
        ``against`` is of another length.
        """
        s = self.sentence
        heads, labels = (against.heads, against.labels) if against is not None else ((), ())
        if against is not None and len(against) != len(self):
            raise ValueError(f"against has {len(against)} words, expected {len(self)}")
        return draw_svg(
            s.forms,
            self.heads,
            self.labels,
            s.upos,
            other_heads=heads,
            other_labels=labels,
            graph=self.enhanced if graph else (),
            title=title,
        )

    def to_text(self, *, colour: bool = False) -> str:
        """Draw the tree as text, one line for each word, in a terminal's colours if wanted."""
        s = self.sentence
        return draw_text(s.forms, self.heads, self.labels, s.upos, colour=colour)

    def __str__(self) -> str:
        return self.to_text().rstrip("\n")

    def __repr__(self) -> str:
        what = "proved" if self.proved else f"at most {self.upper_bound:.6g}"
        return f"<Tree {self.rank}: {len(self)} words, score {self.score:.6g}, {what}>"

    def _repr_svg_(self) -> str:
        return self.to_svg()


class ParsedSentence(Sequence[Word]):
    """A sentence and its best trees; a sequence of the words of the best one.

    Attributes
    ----------
    sentence : Sentence
        The input, or a sentence of the input text.
    trees : tuple of Tree
        Best first, as many as requested or as exist.
    status : str
        The reason why the search ended, see `bbparse.solve`.
    """

    __slots__ = ("_words", "sentence", "status", "trees")

    def __init__(self, sentence: Sentence, trees: Sequence[ScoredTree], status: str) -> None:
        self.sentence = sentence
        names = [field.name for field in fields(ScoredTree)]
        self.trees = tuple(
            Tree(*(getattr(tree, name) for name in names), sentence=sentence, rank=k)
            for k, tree in enumerate(trees, start=1)
        )
        self.status = status
        self._words = self.trees[0].words if self.trees else []

    @property
    def best(self) -> Tree:
        """The best tree; raises `ValueError` if constraints forbid all trees."""
        if not self.trees:
            raise ValueError(f"{self.sentence.name} has no tree: {self.status}")
        return self.trees[0]

    @property
    def heads(self) -> tuple[int, ...]:
        """Heads in the best tree."""
        return self.best.heads

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels in the best tree."""
        return self.best.labels

    @property
    def score(self) -> float:
        """Score of the best tree."""
        return self.best.score

    @property
    def proved(self) -> bool:
        """True if every tree is proved to have its rank."""
        return all(tree.proved for tree in self.trees)

    @property
    def text(self) -> str:
        """The text of the sentence in its file, or else its words with spaces between them."""
        return self.sentence.written

    def __len__(self) -> int:
        return len(self._words)

    @overload
    def __getitem__(self, index: int) -> Word: ...

    @overload
    def __getitem__(self, index: slice) -> list[Word]: ...

    def __getitem__(self, index: int | slice) -> Word | list[Word]:
        return self._words[index]

    def to_conllu(self) -> str:
        """Return the sentence in CoNLL-U, once for each of its trees."""
        return as_conllu(self.sentence, self.trees, self.status, Style(len(self.trees)))

    def to_dict(self) -> dict[str, Any]:
        """Return the record of ``bbparse parse --format jsonl``; see `drawing.formats`."""
        return sentence_record(self.sentence, self.trees, self.status)

    def to_svg(self) -> str:
        """Draw the best tree as an SVG image."""
        return self.best.to_svg()

    def __str__(self) -> str:
        return as_tree(self.sentence, self.trees, self.status, Style()).rstrip("\n")

    def __repr__(self) -> str:
        text = self.text if len(self.text) <= 60 else self.text[:57] + "…"
        if not self.trees:
            return f"<ParsedSentence {text!r}: no tree, {self.status}>"
        trees = counted(len(self.trees), "tree")
        proved = "proved" if self.proved else "not all proved"
        return f"<ParsedSentence {text!r}: {trees}, best score {self.score:.6g}, {proved}>"

    def _repr_html_(self) -> str:
        return "".join(_figure(tree, len(self.trees)) for tree in self.trees) or markup(repr(self))


class Document(tuple[ParsedSentence, ...]):
    """Parsed sentences in order."""

    __slots__ = ()

    #: Number of sentences of a long document that a notebook shows.
    SHOWN = 20

    @property
    def n_words(self) -> int:
        """Number of words in all sentences."""
        return sum(sentence.sentence.n_words for sentence in self)

    def to_conllu(self) -> str:
        """Return all sentences in CoNLL-U."""
        last = len(self) - 1
        return "".join(
            as_conllu(s.sentence, s.trees, s.status, Style(len(s.trees), last=i == last))
            for i, s in enumerate(self)
        )

    def to_dict(self) -> dict[str, Any]:
        """Return ``version`` and the records of the ``sentences``; see `drawing.formats`."""
        return {"version": VERSION, "sentences": [sentence.to_dict() for sentence in self]}

    def __str__(self) -> str:
        return "\n\n".join(str(sentence) for sentence in self)

    def __repr__(self) -> str:
        return f"<Document: {counted(len(self), 'sentence')}, {counted(self.n_words, 'word')}>"

    def _repr_html_(self) -> str:
        shown = "".join(sentence._repr_html_() for sentence in self[: self.SHOWN])
        rest = len(self) - self.SHOWN
        return shown + (f"<p>… and {counted(rest, 'sentence')} more</p>" if rest > 0 else "")


def _figure(tree: Tree, count: int) -> str:
    """Draw a tree for a notebook: a box that scrolls, with a caption."""
    what = f"tree {tree.rank} of {count}, " if count > 1 else ""
    proof = "proved" if tree.proved else f"not proved, at most {tree.upper_bound:.6g}"
    caption = f"{tree.sentence.name}: {what}score {tree.score:.6g}, {proof}"
    return (
        '<figure style="margin:0 0 1em;overflow-x:auto">'
        f'{tree.to_svg()}<figcaption style="font-size:small;opacity:.7">{markup(caption)}'
        "</figcaption></figure>"
    )
