"""A language with graphs: sentences whose DEPS follow from their trees by a few rules."""

from __future__ import annotations

import random
from collections.abc import Iterator

from bbparse.treebank import Sentence
from bbparse.treebank.graph import format_deps, with_deps

#: (form, UPOS, FEATS, head from its phrase, label) of the words of phrases.
_PLACES = ("in", "on", "with", "from")
_NAMES = ("Ann", "Bob", "Cleo", "Dan")
_VERBS = ("sees", "hears", "knows")


class _Maker:
    """Builds one sentence word by word; ids are numbers of words."""

    def __init__(self) -> None:
        self.rows: list[list[object]] = []
        self.graph: dict[int, list[tuple[int, str]]] = {}

    def word(self, form: str, upos: str, feats: str = "_") -> int:
        self.rows.append([form, upos, feats, 0, "root"])
        return len(self.rows)

    def arc(self, head: int, label: str, dependent: int, full: str = "") -> None:
        self.rows[dependent - 1][3:] = [head, label]
        self.graph.setdefault(dependent, []).append((head, full or label))

    def edge(self, head: int, label: str, dependent: int) -> None:
        self.graph.setdefault(dependent, []).append((head, label))


def sentence_of(rng: random.Random) -> Sentence:
    """Return a sentence: [Ann [and Bob]] [wants to] sees Tim [who sleeps] [in Rome [and Oslo]]."""
    make = _Maker()
    subjects = [make.word(rng.choice(_NAMES), "PROPN")]
    if rng.random() < 0.4:
        conjunction = make.word(rng.choice(("and", "or")), "CCONJ")
        subjects.append(make.word(rng.choice(_NAMES), "PROPN"))
        make.arc(subjects[1], "cc", conjunction)
        end = make.rows[conjunction - 1][0]
        make.arc(subjects[0], "conj", subjects[1], f"conj:{end}")
    wants = make.word("wants", "VERB") if rng.random() < 0.3 else 0
    to = make.word("to", "PART") if wants else 0
    verb = make.word(rng.choice(_VERBS), "VERB")
    if wants:
        make.arc(verb, "mark", to)
        make.arc(wants, "xcomp", verb)
    first = wants or verb
    make.arc(0, "root", first)
    make.arc(first, "nsubj", subjects[0])
    for subject in subjects[1:]:
        make.edge(first, "nsubj", subject)
    if wants:
        for subject in subjects:
            make.edge(verb, "nsubj:xsubj", subject)
    noun = make.word("man", "NOUN")
    make.arc(verb, "obj", noun)
    if rng.random() < 0.4:
        who = make.word("who", "PRON", "PronType=Rel")
        clause = make.word("sleeps", "VERB")
        make.arc(noun, "acl:relcl", clause)
        make.rows[who - 1][3:] = [clause, "nsubj"]
        make.edge(noun, "ref", who)
        make.edge(clause, "nsubj", noun)
    if rng.random() < 0.5:
        preposition = make.word(rng.choice(_PLACES), "ADP")
        place = make.word("Rome", "PROPN")
        make.arc(place, "case", preposition)
        label = f"obl:{make.rows[preposition - 1][0]}"
        make.arc(verb, "obl", place, label)
        if rng.random() < 0.5:
            conjunction = make.word("and", "CCONJ")
            other = make.word("Oslo", "PROPN")
            make.arc(other, "cc", conjunction)
            make.arc(place, "conj", other, "conj:and")
            make.edge(verb, label, other)
    forms, upos, feats, heads, labels = (list(column) for column in zip(*make.rows))
    sentence = Sentence.from_words(forms, upos=upos, feats=feats, heads=heads, deprels=labels)
    return with_deps(sentence, [format_deps(make.graph[m]) for m in range(1, len(forms) + 1)])


def sentences(seed: int, count: int) -> Iterator[Sentence]:
    """Yield random sentences, the same ones for a seed."""
    rng = random.Random(seed)
    return (sentence_of(rng) for _ in range(count))
