"""Write the figures of the documentation from stored measurements.

    python bench/figures.py [--check]

Fills the templates in bench/pages from bench/results and writes docs/figures.md (for users),
docs/notes/figures.md (all figures) and the table of the README. In docs/figures.md and the README,
{accuracy[megabytes]} stands for a number of accuracy.json; in the notes, {accuracy} stands for all
of accuracy.md and {accuracy:1} for its text up to the first table. With --check nothing is written,
and the command fails if a page is out of date.
"""

from __future__ import annotations

import textwrap
from typing import Any

from measure import HERE, RESULTS, arguments, result, table

ROOT = HERE.parent
README = ROOT / "README.md"
BEGIN, END = "<!-- figures: written by bench/figures.py -->\n", "<!-- end of figures -->\n"
#: Treebank of accuracy.json → its title.
TREEBANKS = {"en_ewt": "English EWT", "en_gum": "English GUM"}
#: Input, as accuracy.json names it → its title.
INPUTS = {"gold tags": "words and gold tags", "gold words": "words", "text": "raw text"}
#: Treebanks of text.json on which both systems were trained, and their training sentences.
TRAINED = {
    "hu_szeged (--projective yes)": ("Hungarian Szeged", "910"),
    "nl_lassysmall (first 1,500)": ("Dutch LassySmall", "1,500"),
    "zh_gsd (first 1,500)": ("Chinese GSD", "1,500"),
}
SCORES = {
    "sentences": "sentences",
    "words": "words",
    "upos": "UPOS",
    "uas": "UAS",
    "las": "LAS",
    "mlas": "MLAS",
}
#: Columns of times beside UDPipe's.
KINDS = {"tags": "words/s, tags given", "text": "words/s from text"}
#: Solvers of decode.json.
SOLVERS = {
    "default": "bbparse",
    "toulbar2": "toulbar2",
    "ad3": "AD3 (approximate)",
    "highs": "HiGHS, an earlier integer program",
}


class Results(dict[str, Any]):
    """Values of a template by name; other names are results of benchmarks."""

    def __missing__(self, name: str) -> dict[str, Any]:
        return result(name)


class Body(str):
    """The text of a result; {name:2} shows it up to its second table."""

    def __format__(self, tables: str) -> str:
        if not tables:
            return str(self)
        *blocks, below = self.split("\n\n")
        starts = [i for i, block in enumerate(blocks) if block.startswith("|")]
        return "\n\n".join([*blocks[: starts[int(tables) - 1] + 1], below])


class Bodies(dict[str, str]):
    """The text of each result for the notes: tables, plots, date and machine."""

    def __missing__(self, name: str) -> str:
        body = (RESULTS / f"{name}.md").read_text(encoding="utf-8").strip()
        plots = sorted(RESULTS.glob("tables-*.svg" if name == "tables" else f"{name}.svg"))
        shown = ", ".join(f"[{plot.stem}](../../bench/results/{plot.name})" for plot in plots)
        below = f"Plots: {shown}. " if shown else ""
        return Body(f"{body}\n\n{below}{measured(result(name))}".rstrip())


def measured(found: dict[str, Any]) -> str:
    """Say when and on which machine a result was measured."""
    machine = found.get("machine")
    if machine is None:
        return ""
    versions = ", ".join(f"{name} {number}" for name, number in machine["versions"].items())
    return (
        f"Measured {machine['date']}: {machine['processor']}, {machine['cores']} cores, Python"
        f" {machine['python']}, {versions}."
    )


def page(name: str, values: dict[str, Any]) -> str:
    """Fill a template of bench/pages."""
    return (HERE / "pages" / name).read_text(encoding="utf-8").format_map(values)


def in_lines(text: str) -> str:
    """Wrap paragraphs at 105 characters."""
    return (
        "\n\n".join(
            block
            if block.startswith(("#", "|", "Measured"))
            else textwrap.fill(block, 105, break_long_words=False, break_on_hyphens=False)
            for block in text.strip().split("\n\n")
        )
        + "\n"
    )


def known() -> Results:
    """Collect the values of docs/figures.md and the README."""
    found = Results()
    accuracy, exactness = found["accuracy"]["rows"], found["exactness"]
    beside, english = found["beside_udpipe"]["rows"], found["throughput"]["rows"]["english"]
    ours = [beside[f"bbparse, english{few}"]["tags"] for few in ("", ", `--members 1`")]
    return Results(
        ewt=accuracy["en_ewt, gold tags"],
        english=english,
        microseconds=sum(english["microseconds_a_word"].values()),
        ours=round(ours[0], -2),
        ours_of_one=round(ours[1], -2),
        stream=found["beside_udpipe_stream"]["rows"],
        beam=round(beside["UDPipe 1, beam of 5"]["tags"], -2),
        wrong=len(exactness["disagreements"]) or "none",
        lies=sum(n for name, n in exactness["met"].items() if name.startswith("lie: ")),
        measured=measured(found["startup"]),
        **tables(found),
    )


def tables(found: Results) -> dict[str, str]:
    """Make the tables of docs/figures.md and the README, by name."""
    accuracy, text = found["accuracy"]["rows"], found["text"]["rows"]
    by_input = {
        name: [(title, accuracy[f"{name}, {key}"]) for key, title in INPUTS.items()]
        for name in TREEBANKS
    }
    trained = []
    for name, (title, size) in TRAINED.items():
        for system in ("UDPipe 1", "bbparse"):
            (row,) = (
                row
                for key, row in text.items()
                if key.removeprefix(f"{name}, ").partition(" (")[0] == system and "las" in row
            )
            trained.append([title, size, system, *(f"{row[n]:.2f}" for n in SCORES)])
    systems = [
        [
            name,
            *(f"{row[k]:,.0f} ({row['ratios'][k]:.2f})" if k in row else "" for k in KINDS),
            *(f"{100 * row[k]:.2f}" if k in row else "" for k in ("uas", "las")),
        ]
        for name, row in found["beside_udpipe"]["rows"].items()
    ]
    pruned = []
    for k in (3, 5, 10, 20):
        row = found["throughput"]["rows"]["english" if k == 10 else f"english, k = {k}"]
        pruned.append(
            [
                f"{k}, the default" if k == 10 else str(k),
                f"{100 * row['uas']:.2f}",
                f"{100 * row['las']:.2f}",
                *(f"{row['words_per_second'][t]:,.0f}" for t in "12"),
                f"{100 * row['proved']:.0f}",
            ]
        )
    rows = found["decode"]["solvers"]
    solvers = [
        [title, "{median_ms:.2f}".format(**rows[key]), "{median_ratio:,.0f}".format(**rows[key])]
        for key, title in SOLVERS.items()
    ]
    first, k_best = found["startup"], found["limits"]["k_best"]["of the model"]
    costs = [
        ["the model's file", f"{found['accuracy']['megabytes']:.1f} MB"],
        [
            "peak memory of `bbparse parse` on EWT dev",
            f"{accuracy['en_ewt, gold tags']['memory_mb']:.0f} MB",
        ],
        [
            "first sentence ever, with compilation",
            "{seconds:.0f} s, {processor_seconds:.0f} s of processor time".format(**first["cold"]),
        ],
        ["one sentence, later runs", f"{first['warm']['seconds']:.1f} s"],
        ["100 best trees of a long sentence, earlier model", f"{k_best['100']['seconds']:.2f} s"],
        ["10,000 best trees of it", f"{k_best['10000']['seconds']:.1f} s"],
    ]
    made = {
        "accuracy_table": table(
            ["dev set", "input", *SCORES.values()],
            [
                [TREEBANKS[name], title, *(f"{row[n]:.2f}" for n in SCORES)]
                for name, inputs in by_input.items()
                for title, row in inputs
            ],
            2,
        ),
        "accuracy_beside_table": table(
            ["dev set", "trained on", "system", *SCORES.values()], trained, 3
        ),
        "speed_table": table(["EWT dev", *KINDS.values(), "UAS", "LAS"], systems),
        "prune_table": table(
            ["candidate heads per word", "UAS", "LAS", "words/s, one process", "two", "proved, %"],
            pruned,
        ),
        "solver_table": table(["solver", "median, ms", "times bbparse"], solvers),
        "cost_table": table(["", ""], costs),
        "input_table": table(
            ["input", "UPOS", "UAS", "LAS"],
            [
                [title, *(f"{row[n]:.2f}" for n in ("upos", "uas", "las"))]
                for title, row in by_input["en_ewt"]
            ],
        ),
    }
    return {name: text.rstrip("\n") for name, text in made.items()}


def main() -> None:
    """Write all pages, or check them."""
    given = arguments(__doc__, check=False)
    before, _, rest = README.read_text(encoding="utf-8").partition(BEGIN)
    after, values = rest.partition(END)[2], known()
    wanted = {
        ROOT / "docs" / "figures.md": in_lines(page("figures.md.in", values)),
        ROOT / "docs" / "notes" / "figures.md": page("notes.md.in", Bodies()),
        README: f"{before}{BEGIN}{in_lines(page('readme.md.in', values))}{END}{after}",
    }
    for path, text in wanted.items():
        if not given.check:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            raise SystemExit(f"{path.name} is not up to date: run python bench/figures.py")


if __name__ == "__main__":
    main()
