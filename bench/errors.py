"""What the backbone gets wrong on sentences it did not see, counted by pattern.

    python bench/errors.py parse TRAIN OUT [--config english]
    python bench/errors.py count GOLD OUT [OUT ...]

`parse` divides TRAIN into the folds of the configuration, trains the backbone on all folds but one
and writes the trees it finds for the sentences of that one. `count` counts the wrong heads of one
or more such outputs, or of any other parses of GOLD, by relation and by the patterns of
docs/notes/error-analysis.md; it prints Markdown and writes bench/results/errors.json.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from bbparse.configuration import Configuration
from bbparse.learning.data import prepare
from bbparse.learning.network import held_out_problems
from bbparse.learning.run import Run
from bbparse.solving.solve import solve
from bbparse.treebank import Sentence, format_sentence, read_conllu

SPEECH = frozenset(
    "say tell think ask know believe guess hope mean see write add note explain reply report "
    "suggest suppose claim argue feel wonder let thank".split()
)
PAIRED = frozenset("()[]{}\"'“”‘’") | {"``", "''", "-LRB-", "-RRB-"}


class Word:
    """A word whose head is wrong, and what is around it in the gold tree."""

    def __init__(self, sentence: Sentence, m: int, found: int) -> None:
        self.sentence, self.m, self.found = sentence, m, found
        self.gold = sentence.heads[m - 1]
        self.relation = sentence.deprels[m - 1]
        self.form = sentence.forms[m - 1].lower()
        self.children = [c for c, h in enumerate(sentence.heads, 1) if h == m]

    def upos(self, i: int) -> str:
        """Tag of a word or of the root."""
        return self.sentence.upos[i - 1] if i else "ROOT"

    def has(self, *relations: str) -> bool:
        """Whether the word has a modifier with one of some relations."""
        return any(self.sentence.deprels[c - 1] in relations for c in self.children)

    def lemmas(self, *words: int) -> set[str]:
        """Lemmas of words that are not the root."""
        return {self.sentence.lemmas[i - 1] for i in words if i}

    def marks(self) -> set[str]:
        """Forms of the word's markers and prepositions."""
        return {
            self.sentence.forms[c - 1].lower()
            for c in self.children
            if self.sentence.deprels[c - 1] in ("case", "mark")
        }


def _final(w: Word) -> bool:
    last = w.sentence.n_words
    while last > 1 and w.sentence.forms[last - 1] in (")", '"', "''", "'", "”"):
        last -= 1
    return w.m == last


#: The first pattern that fits a word is the one it is counted under.
PATTERNS: dict[str, Callable[[Word], bool]] = {
    "final punctuation": lambda w: w.relation == "punct" and _final(w),
    "brackets and quotation marks": lambda w: w.relation == "punct" and w.form in PAIRED,
    "commas": lambda w: w.relation == "punct" and w.form == ",",
    "other punctuation": lambda w: w.relation == "punct",
    "root": lambda w: w.relation == "root",
    "comparison (than, as)": lambda w: (
        bool(w.marks() & {"than", "as"}) or w.form in ("than", "as", "rather")
    ),
    "conjuncts": lambda w: w.relation == "conj",
    "conjunctions": lambda w: w.relation in ("cc", "cc:preconj"),
    "said, thought (parataxis and clauses)": lambda w: (
        w.relation in ("parataxis", "ccomp") and bool(w.lemmas(w.m, w.gold, w.found) & SPEECH)
    ),
    "other parataxis, lists": lambda w: w.relation in ("parataxis", "list", "discourse"),
    "relative clauses": lambda w: w.relation == "acl:relcl",
    "clauses with a marker": lambda w: (
        w.relation in ("advcl", "acl", "ccomp", "xcomp", "csubj") and w.has("mark")
    ),
    "clauses without one": lambda w: (
        w.relation.partition(":")[0] in ("advcl", "acl", "ccomp", "xcomp", "csubj")
    ),
    "prepositional phrases": lambda w: w.relation in ("obl", "nmod") and w.has("case"),
    "phrases without preposition": lambda w: w.relation.partition(":")[0] in ("obl", "nmod"),
    "subjects, auxiliaries, copulas": lambda w: (
        w.relation.partition(":")[0] in ("nsubj", "aux", "cop", "expl")
    ),
    "objects": lambda w: w.relation in ("obj", "iobj"),
    "names, compounds, numbers": lambda w: (
        w.relation.partition(":")[0] in ("compound", "flat", "nummod", "goeswith")
    ),
    "appositions": lambda w: w.relation == "appos",
    "adverbs": lambda w: w.relation.startswith("advmod"),
    "case markers and markers": lambda w: w.relation in ("case", "mark", "fixed"),
    "determiners, adjectives": lambda w: w.relation.partition(":")[0] in ("det", "amod"),
    "the rest": lambda w: True,
}


def count(gold: list[Sentence], found: list[Sentence]) -> dict[str, dict[str, int]]:
    """Wrong heads by pattern and by relation."""
    patterns: Counter[str] = Counter()
    relations: Counter[str] = Counter()
    for right, guess in zip(gold, found, strict=True):
        for m in range(1, right.n_words + 1):
            if guess.heads[m - 1] != right.heads[m - 1]:
                word = Word(right, m, guess.heads[m - 1])
                patterns[next(name for name, fits in PATTERNS.items() if fits(word))] += 1
                relations[word.relation] += 1
    return {"patterns": dict(patterns), "relations": dict(relations)}


def table(title: str, rows: list[str], columns: list[dict[str, int]], names: list[str]) -> str:
    """A Markdown table with shares for the first column and differences for the others."""
    total = sum(columns[0].values())
    heads = [f"{names[0]} | share", *names[1:]]
    lines = [f"| {title} | " + " | ".join(heads) + " |"]
    lines.append("| --- |" + " ---: |" * (len(names) + 1))
    for row in [*rows, "all"]:
        values = [sum(c.values()) if row == "all" else c.get(row, 0) for c in columns]
        rest = "".join(f" {v} ({v - values[0]:+d}) |" for v in values[1:])
        lines.append(f"| {row} | {values[0]} | {100 * values[0] / total:.1f} % |{rest}")
    return "\n".join(lines) + "\n"


def parse(train: str, out: str, config_name: str) -> None:
    """Write the trees that networks find for sentences they did not see."""
    config = Configuration.load(config_name).with_("factors", families=())
    sentences = list(read_conllu(train, require_heads=True))
    data = prepare(sentences, config.model)
    run = Run(config, data, None, say=print)
    texts = []
    for sentence, problem in zip(sentences, held_out_problems(run)):
        solution = solve(problem, node_limit=config.learning.node_limit, **config.method)
        texts.append(format_sentence(sentence, solution.heads[0, 1:].tolist()))
    Path(out).write_text("".join(texts), encoding="utf-8")


def main() -> None:
    """Parse or count."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("parse")
    one.add_argument("train")
    one.add_argument("out")
    one.add_argument("--config", default="english")
    two = commands.add_parser("count")
    two.add_argument("gold")
    two.add_argument("found", nargs="+")
    two.add_argument("--names", help="of the outputs, separated by commas")
    arguments = parser.parse_args()
    if arguments.command == "parse":
        parse(arguments.train, arguments.out, arguments.config)
        return
    gold = list(read_conllu(arguments.gold, require_heads=True))
    results = [count(gold, list(read_conllu(path))) for path in arguments.found]
    names = (
        arguments.names.split(",") if arguments.names else [Path(f).stem for f in arguments.found]
    )
    for kind in ("patterns", "relations"):
        columns = [result[kind] for result in results]
        rows = sorted(columns[0], key=lambda row: -columns[0][row])[:25]
        print(table(kind, rows, columns, names))
    folder = Path(__file__).resolve().parent / "results"
    folder.mkdir(exist_ok=True)
    words = sum(sentence.n_words for sentence in gold)
    record = {"words": words, "outputs": dict(zip(names, results))}
    (folder / "errors.json").write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
