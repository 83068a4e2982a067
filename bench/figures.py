"""The figures of the documentation, from what the benchmarks wrote.

    python bench/figures.py [--check]

writes docs/figures.md (what a user decides by), docs/notes/figures.md (all of it) and the table of
the README from bench/results, so that no figure is written by hand. With --check it writes nothing
and fails if one of them is not up to date.
"""

from __future__ import annotations

from pathlib import Path

import overview
from measure import RESULTS, arguments, result
from overview import measured

ROOT = Path(__file__).resolve().parent.parent
OVERVIEW = ROOT / "docs" / "figures.md"
PAGE = ROOT / "docs" / "notes" / "figures.md"
README = ROOT / "README.md"
BEGIN, END = "<!-- figures: written by bench/figures.py -->\n", "<!-- end of figures -->\n"

PREFACE = """# All figures

**Summary**

* [Figures](../figures.md) has what a user decides by; this page has the rest.
* Factor families gain up to 0.2 UAS beside earlier backbones on EWT, brackets and siblings most.
* Parsing takes 1.7 times as many words a second as UDPipe 1 with a beam; one network 2.7.
* Against HiGHS, CP-SAT, toulbar2 and AD3, decoding is faster by factors of 12 to 653 in the median.
* Rules of valid trees cost 6 to 30 % of the time, and remove all faults of level 3.
* Price and cut pays for dense problems of 45 words and more.
* Agreement of three models gains 4 F1 over the grammar alone in phrase structure.

This page is written by `bench/figures.py` from what the benchmarks measured (`bench/README.md`);
the script that measures again stands under each heading. UAS is the share of words whose head is
right, LAS that of words whose head and label are. DP calls are a sentence's calls of the dynamic
program; "full-size calls" weigh a call by the share of the chart that elimination has left, an
inside-outside pass counting as three. Words a second are from file to file; p-values are those of
the paired bootstrap over sentences. What was measured before 24 November 2026 is of models with
templates over a convolutional network, in whose place one recurrent network is now.

"""

#: Title, result, and what has to be known to read its table.
SECTIONS = (
    ("Accuracy", "accuracy",
     "The model that comes with the package, by what of a dev set is given, with the rules of valid"
     " trees; LAS is of labels without subtypes, as the official scorer counts it."),
    ("Treebanks and factor families", "tables",
     "Qian & Liu's Tables 2 and 3: train → dev, gold tags unless said otherwise. All rows of a"
     " treebank have one backbone, so that they differ in their factors only; gains are against the"
     " backbone. [Treebanks](treebanks.md) says more."),
    ("Throughput", "throughput",
     "UD English EWT dev from file to file, with loading and compiling left out."),
    ("Beside UDPipe", "beside_udpipe",
     "UD English EWT dev from file to file, its tags given, and from text, by the processor's time."
     " UDPipe and spaCy learned from 2,000 sentences, for their speed only; spaCy parses words"
     " without tags."),
    ("Shards", "corpus",
     "Sentences of UD English EWT dev in eight shards, against parsing them one after the other"
     " without an engine. The machine was busy with a dozen other things, so that only what words/s"
     " are to each other counts; most of Ray's time is its start. Processor time is that of all"
     " processes but Ray's. [Corpora](../howto/corpora.md) says more."),
    ("A service", "serve",
     "`bbparse serve` with one worker, asked for one sentence of UD English EWT dev at a time by"
     " clients on the same machine. [A service](../howto/serving.md) says more."),
    ("Other solvers", "decode",
     "Problems of sentences of ten words and more, with the candidate heads that the model's margin"
     " leaves; ten seconds each. AD3 is approximate. Times are the solvers' own."),
    ("Other solvers, all heads", "decode-all-heads",
     "The same with all ten candidate heads of each word."),
    ("Other solvers, sentences of any length", "decode-any-length",
     "The model's margin again, with short sentences, too."),
    ("Running text", "text",
     "The text of dev, of which nothing is given, by models of train: F1 as the official"
     " scorer of CoNLL 2018 has it. Both systems learned from the same sentences; UDPipe's"
     " tokenizer in as many epochs as are named (its default is 100), its tagger and parser as"
     " they are by default but for what is named. 'By rules' is how text was cut before. Words a"
     " second of processor time, from text to trees, or to words where there was no parser, on a"
     " busy machine."
     " Training includes compiling, and that of hu_szeged was interrupted and went on."
     " nl_lassysmall and zh_gsd do not say where blanks are: they are guessed, for both systems"
     " alike."),
    ("Valid trees and confidence", "validity",
     "Trees of dev by models that keep UD's rules or do not: faults are those of level 3 in heads"
     " and relations that the official validator finds; LAS, UAS and complete trees are the"
     " differences that rules make, with 95 % intervals. Confidence is fitted to one half of dev,"
     " and measured on the other; see [Valid trees](../howto/validity.md) and"
     " [Confidence](../howto/confidence.md)."),
    ("Price and cut", "pricing",
     "Models of arcs and grandparents, three epochs, no pruning, on a random sample of dev: the"
     " root alone (Table 1 of Riedel et al. 2012), the paper's sets of constraints (Table 2),"
     " branching, and other methods on the same problems. Sentences a second of processor time,"
     " scoring included; in the last tables triples are scored beforehand. [Price and"
     " cut](../howto/price-and-cut.md) says more."),
    ("Phrase structure", "phrases",
     "English GUM, train → dev, every third sentence of up to 60 words, on a busy machine: the"
     " grammar alone, with the tagger, with the dependency parser, with both (Tables 1-3 of Rush et"
     " al. 2010). F1 as EVALB counts, heads by the grammar's head rules; p against the row in"
     " brackets. Then accuracy and certificates as the limit of calls grows (their Figure 5)."),
    ("Phrase structure, other parsers", "phrases-others",
     "A model of the first 1,200 training trees of English GUM against other parsers, one sentence"
     " in twelve of dev of those of up to 40 words: SuPar's CRF parser (1.1.4) in twelve epochs"
     " with a small network (characters and words, two LSTM of 200), trained on the same, timed by"
     " the clock; and the grammar's own chart against NLTK's."),
    ("Time limits and k best", "limits",
     "Seconds that problems take under a limit, and of processor, on a busy machine: waiting for a"
     " processor is no work, but it is time. And the k best trees of the longest problem among 100"
     " sentences of English EWT's dev set, by the model that comes with the package, and of one"
     " with all arcs."),
    ("Hostile sentences", "hostile",
     "Repeated tokens, rulers, tables, mixed scripts, single characters, and one in a hundred of"
     " 2,000 words, without a limit. CoNLL-U includes loading the model. Then requests to a"
     " service, each with a deadline of one second."),
    ("Ctrl-C at random moments", "interrupts",
     "130 is the status that commands end with; Python's own KeyboardInterrupt, or the signal (-2),"
     " ends what has not begun with the command's code."),
    ("Exactness", "exactness",
     "Problems of up to six words, a few of up to 14, against all their trees: of every kind, with"
     " ties, scales from 1e-12 to 1e100, and penalties and rewards of up to 3e38 beside them."),
    ("The first run", "startup", "One sentence or forty, file to file, in processes of their own."),
)  # fmt: skip


def section(title: str, name: str, text: str) -> str:
    """A heading, what the table shows, the table, its plots, and where it was measured."""
    body = (RESULTS / f"{name}.md").read_text(encoding="utf-8").strip()
    body = body.replace("\n## ", "\n### ").removeprefix("## ")
    body = f"### {body}" if name == "tables" else body
    plots = sorted(RESULTS.glob("tables-*.svg" if name == "tables" else f"{name}.svg"))
    shown = [f"[{plot.stem}](../../bench/results/{plot.name})" for plot in plots]
    below = [f"Plots: {', '.join(shown)}.\n"] if shown else []
    machine = measured(result(name))
    script = name.partition("-")[0]
    parts = [f"## {title}\n", f"{text} (`bench/{script}.py`)\n", body + "\n", *below]
    return "\n".join([*parts, machine] if machine else parts)


def page() -> str:
    """docs/notes/figures.md."""
    return PREFACE + "\n".join(section(*given) for given in SECTIONS)


def with_summary(readme: str) -> str:
    """The README with its table as it should be."""
    before, _, rest = readme.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{overview.readme()}{END}{after}"


def main() -> None:
    """Write all, or check them."""
    given = arguments(__doc__, check=False)
    wanted = {
        OVERVIEW: overview.page(), PAGE: page(),
        README: with_summary(README.read_text(encoding="utf-8")),
    }  # fmt: skip
    for path, text in wanted.items():
        if not given.check:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            raise SystemExit(f"{path.name} is not up to date: run python bench/figures.py")


if __name__ == "__main__":
    main()
