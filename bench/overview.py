"""Text of docs/figures.md, what a user decides by, and of the table of the README.

Everything comes from bench/results; `figures.py` writes the pages.
"""

from __future__ import annotations

import textwrap
from typing import Any

from measure import result, table

#: Treebank of accuracy.json → its title.
TREEBANKS = {"en_ewt": "English EWT", "en_gum": "English GUM"}
#: What is given, in accuracy.json → as a reader would say it.
INPUTS = {"gold tags": "words and gold tags", "gold words": "words", "text": "raw text"}
#: Treebanks of text.json on which both systems were trained, and their training sentences.
TRAINED = {
    "hu_szeged (--projective yes)": ("Hungarian Szeged", "910"),
    "nl_lassysmall (first 1,500)": ("Dutch LassySmall", "1,500"),
    "zh_gsd (first 1,500)": ("Chinese GSD", "1,500"),
}


def measured(found: dict[str, Any]) -> str:
    """Return when and on what something was measured."""
    machine = found.get("machine")
    if machine is None:
        return ""
    versions = ", ".join(f"{name} {number}" for name, number in machine["versions"].items())
    return (
        f"Measured {machine['date']}: {machine['processor']}, {machine['cores']} cores, Python"
        f" {machine['python']}, {versions}.\n"
    )


def page() -> str:
    """Return docs/figures.md."""
    return "\n".join([
        "# Figures\n",
        paragraph(
            "This page has the figures to decide by. `bench/figures.py` writes it from stored"
            " measurements; the [research notes](notes/figures.md) have all of them, with the"
            " scripts that repeat them. Everything was measured on a virtual machine with two"
            " cores, without a GPU."
        ),
        "## Accuracy\n", accuracy(), "## Accuracy beside UDPipe\n", beside_in_accuracy(),
        "## Speed\n", speed(), "## Exactness\n", exactness(),
        "## Memory and the first run\n", cost(),
    ])  # fmt: skip


def paragraph(text: str) -> str:
    """Return a paragraph in lines of at most 105 characters."""
    return textwrap.fill(text, 105, break_long_words=False, break_on_hyphens=False) + "\n"


def accuracy() -> str:
    """Return accuracy by what is given."""
    found = result("accuracy")
    names = ("sentences", "words", "upos", "uas", "las", "mlas")
    rows = [
        [named, title, *(f"{found['rows'][f'{treebank}, {key}'][n]:.2f}" for n in names)]
        for treebank, named in TREEBANKS.items()
        for key, title in INPUTS.items()
    ]
    head = ["dev set", "given", "sentences", "words", "UPOS", "UAS", "LAS", "MLAS"]
    ewt = found["rows"]["en_ewt, gold tags"]
    return table(head, rows, 2) + "\n" + paragraph(
        "Model `english`, trained on UD English EWT only; F1 in percent by the official scorer of"
        " CoNLL 2018, whose LAS ignores subtypes of labels. With them, EWT with gold tags has"
        f" {ewt['las_full']:.2f} LAS; {ewt['complete']:.1f} % of its trees have all heads right."
        " No pretrained vectors or encoder are used."
    )  # fmt: skip


def beside_in_accuracy() -> str:
    """Return accuracy from text, of bbparse and of UDPipe 1 trained on the same sentences."""
    found = result("text")
    rows = []
    for name, (title, size) in TRAINED.items():
        for system in ("UDPipe 1", "bbparse"):
            (row,) = (
                row for key, row in found["rows"].items()
                if key.removeprefix(f"{name}, ").partition(" (")[0] == system and "las" in row
            )  # fmt: skip
            rows.append([
                title, size, system,
                *(f"{row[n]:.2f}" for n in ("sentences", "words", "upos", "uas", "las", "mlas")),
            ])  # fmt: skip
    head = ["dev set", "trained on", "system", "sentences", "words", "UPOS", "UAS", "LAS", "MLAS"]
    return table(head, rows, 3) + "\n" + paragraph(
        "From raw text; both systems were trained on the same sentences. UDPipe's tokenizer was"
        " trained for 20 epochs and its parser for 10 iterations; its other settings are the"
        " default. UDPipe was not trained on all of EWT, so no figures compare both there."
    )  # fmt: skip


#: What is timed beside UDPipe.
KINDS = {"tags": "words/s, tags given", "text": "words/s from text"}


def speed() -> str:
    """Return words per second beside UDPipe, by processes, and by candidate heads."""
    beside, rows = result("beside_udpipe")["rows"], result("throughput")["rows"]
    systems = [
        [
            name,
            *(f"{row[k]:,.0f} ({row['ratios'][k]:.2f})" if k in row else "" for k in KINDS),
            *(f"{100 * row[k]:.2f}" if k in row else "" for k in ("uas", "las")),
        ]
        for name, row in beside.items()
    ]
    pruned = []
    for k in (3, 5, 10, 20):
        row = rows["english" if k == 10 else f"english, k = {k}"]
        pruned.append([
            f"{k}, the default" if k == 10 else str(k), f"{100 * row['uas']:.2f}",
            f"{100 * row['las']:.2f}", *(f"{row['words_per_second'][t]:,.0f}" for t in "12"),
            f"{100 * row['proved']:.0f}",
        ])  # fmt: skip
    default = rows["english"]
    parts = default["microseconds_a_word"]
    return (
        table(["EWT dev", *KINDS.values(), "UAS", "LAS"], systems)
        + "\n" + paragraph(
            "From file to file on one core of the same machine, in turns, by processor time; in"
            " parentheses times UDPipe's beam. UDPipe and spaCy learned from 2,000 sentences, for"
            " their speed only. The"
            f" networks take {parts['scoring']:.0f} of some {sum(parts.values()):.0f} µs per word,"
            f" the exact search {parts['solving']:.1f}. Without the vectors of AVX-512, parsing"
            " takes 1.3 times as long."
        )
        + "\n" + table(
            ["candidate heads per word", "UAS", "LAS", "words/s, one process", "two", "proved, %"],
            pruned,
        )
        + "\n" + paragraph(
            "`--prune K` sets the number of candidate heads. Two processes parse"
            f" {default['speed_up']:.2f} times as many words per second as one. LAS counts full"
            " labels here. Times in both tables include the validity rules of UD, which `bbparse"
            " parse` keeps by default; accuracy is that without them."
        )
    )  # fmt: skip


def exactness() -> str:
    """Return how often answers were wrong, and how long other exact solvers take."""
    found, solvers = result("exactness"), result("decode")["solvers"]
    lies = sum(number for name, number in found["met"].items() if name.startswith("lie: "))
    wrong = len(found["disagreements"])
    rows = [
        [title, f"{solvers[key]['median_ms']:.2f}", f"{solvers[key]['median_ratio']:,.0f}"]
        for key, title in (
            ("default", "bbparse"), ("toulbar2", "toulbar2"), ("ad3", "AD3 (approximate)"),
            ("highs", "HiGHS, integer program"),
        )
    ]  # fmt: skip
    return (
        paragraph(
            f"Of {found['problems']:,} random problems, projective and crossing, with factors,"
            " counts, labels and scores from 1e-12 to 1e100, compared with all their trees,"
            f" {wrong or 'none'} had a wrong answer. The proof checker refused all of {lies:,}"
            " false solutions. Every tree of EWT dev is proved to be the best among its candidate"
            " arcs. [What is exact](explanation/exactness.md) says what that means. Other solvers"
            " were timed on problems of an earlier model that has factors:"
        )
        + "\n" + table(["solver", "median, ms", "times bbparse"], rows)
    )  # fmt: skip


def cost() -> str:
    """Return memory, size and the first run."""
    found, first = result("accuracy"), result("startup")
    memory = found["rows"]["en_ewt, gold tags"]["memory_mb"]
    k_best = result("limits")["k_best"]["of the model"]
    rows = [
        ["the model's file", f"{found['megabytes']:.1f} MB"],
        ["memory of `bbparse parse` on EWT dev, at most", f"{memory:.0f} MB"],
        ["first sentence ever, kernels are compiled",
         f"{first['cold']['seconds']:.0f} s, {first['cold']['processor_seconds']:.0f} s of"
         " processor"],
        ["one sentence, later runs", f"{first['warm']['seconds']:.1f} s"],
        ["100 best trees of a long sentence, earlier model", f"{k_best['100']['seconds']:.2f} s"],
        ["10,000 best trees of it", f"{k_best['10000']['seconds']:.1f} s"],
    ]  # fmt: skip
    return table(["", ""], rows) + "\n" + measured(first).rstrip("\n") + "\n"


def readme() -> str:
    """Return the table of the README and the sentences below it."""
    found, beside = result("accuracy"), result("beside_udpipe")["rows"]
    rows = [
        [title, *(f"{found['rows'][f'en_ewt, {key}'][n]:.2f}" for n in ("upos", "uas", "las"))]
        for key, title in INPUTS.items()
    ]
    ours = [row for name, row in beside.items() if name.startswith("bbparse")]
    beam = beside["UDPipe 1, beam of 5"]
    exact, first = result("exactness"), result("startup")["cold"]
    text = (
        f"It parses {round(ours[0]['tags'], -2):,.0f} words a second on one core, with one of its"
        f" two networks {round(ours[-1]['tags'], -2):,.0f}; UDPipe 1 with its beam of five"
        f" {round(beam['tags'], -2):,.0f}. Every tree is proved to be the"
        f" best among its candidate arcs; of {exact['problems']:,} random problems"
        f" {len(exact['disagreements']) or 'none'} had a wrong answer. The model has"
        f" {found['megabytes']:.0f} MB; the first sentence waits {first['seconds']:.0f} s for the"
        " compiler."
    )
    return f"{table(['given', 'UPOS', 'UAS', 'LAS'], rows)}\n{paragraph(text)}"
