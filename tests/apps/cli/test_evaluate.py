"""``bbparse evaluate``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bbparse.runtime.output import open_output
from bbparse.treebank import format_sentence, read_conllu
from tests.apps.cli.conftest import Run
from tests.toy import DEV


@pytest.fixture
def chains(tmp_path: Path) -> Path:
    """A file in which each word's head is the word before it."""
    path = tmp_path / "chains.conllu.gz"
    with open_output(path) as stream:
        for sentence in read_conllu(DEV):
            stream.write(format_sentence(sentence, list(range(sentence.n_words))))
    return path


def test_table(run: Run, chains: Path, tmp_path: Path) -> None:
    done = run("evaluate", DEV, DEV)
    lines = done.out.splitlines()
    assert done.code == 0 and lines[0].startswith("30 sentences, 268 words, ")
    assert len({len(line) for line in lines if line.startswith(("UAS", "LAS"))}) == 1
    assert lines[3].split() == ["UAS", "100.00", "100.00"]
    assert lines[-1] == "tags and lemmas: as in GOLD"
    assert "100.00" not in run("evaluate", DEV, chains).out
    other = tmp_path / "other.conllu"
    other.write_text(DEV.read_text(encoding="utf-8").replace("\tNOUN\t", "\tX\t"))
    rows = [line.split() for line in run("evaluate", DEV, other).out.splitlines()]
    found = {row[0]: row[1] for row in rows if row[:1] in (["UPOS"], ["lemmas"])}
    assert 50 < float(found["UPOS"]) < 100 and found["lemmas"] == "100.00"


def test_several_roots_are_told(run: Run, tmp_path: Path) -> None:
    """Scores of the rest count, but the official scorer would refuse the file."""
    path = tmp_path / "roots.conllu"
    with open_output(path) as stream:
        for i, sentence in enumerate(read_conllu(DEV)):
            heads = [0] * sentence.n_words if i in (3, 5) else None
            stream.write(format_sentence(sentence, heads))
    for first, second in ((DEV, path), (path, DEV)):
        done = run("evaluate", first, second)
        assert done.code == 0 and "UAS" in done.out
        (line,) = done.err.splitlines()
        assert line.startswith(f"warning: {path}, line ") and "roots, expected one" in line
        assert line.endswith(f"refuses {path}, with 2 such sentences")


def test_against_other_words(run: Run, chains: Path) -> None:
    train = DEV.parent / "small-train.conllu"
    done = run("evaluate", DEV, chains, "--against", train)
    assert done.code == 2 and f"{train}: its " in done.err


def test_against(run: Run, chains: Path) -> None:
    done = run("evaluate", DEV, DEV, "--against", chains)
    lines = done.out.splitlines()
    assert lines[1:3] == [f"A: {DEV}", f"B: {chains}"]
    (row,) = [line.split() for line in lines if line.startswith("UAS  ")]
    assert row[1] == "100.00" and row[-1] == "0.0001"
    assert "p: paired approximate randomization, 10000 draws" in lines[-1]
    assert "tags and lemmas: as in GOLD" in lines
    assert run("evaluate", DEV, DEV, "--against", chains) == done
    options = "--json --resamples 99".split()
    found = json.loads(run("evaluate", DEV, chains, "--against", DEV, *options).out)
    assert found["resamples"] == 99
    assert found["against"]["uas"] == 1.0
    uas = found["differences"]["uas"]
    assert uas["first"] == found["uas"] and uas["second"] == 1.0
    assert uas["difference"] == pytest.approx(found["uas"] - 1.0)
    assert uas["low"] < uas["difference"] < uas["high"] < 0
    assert uas["p_value"] == 0.01


def test_one_sentence_is_not_significant(run: Run, tmp_path: Path) -> None:
    paths = [tmp_path / f"{head}.conllu" for head in (1, 2)]
    for head, path in zip((1, 2), paths):
        rows = ((1, "He", 2), (2, "saw", 0), (3, "it", head))
        lines = [f"{m}\t{word}\t_\t_\t_\t_\t{head}\tdep\t_\t_\n" for m, word, head in rows]
        path.write_text("".join(lines) + "\n")
    wrong, right = paths
    out = run("evaluate", right, right, "--against", wrong).out
    assert out.startswith("1 sentence, 3 words")
    (row,) = [line.split() for line in out.splitlines() if line.startswith("UAS  ")]
    assert row[1:] == ["100.00", "66.67", "+33.33", "-", "1.0000"]
    found = json.loads(run("evaluate", right, right, "--against", wrong, "--json").out)
    uas = found["differences"]["uas"]
    assert (uas["low"], uas["high"], uas["p_value"], uas["differing"]) == (None, None, 1.0, 1)
    found = json.loads(run("evaluate", right, wrong, "--agreement", "--json").out)
    assert found["agreement"]["head"]["kappa_interval"] == [None, None]
    assert found["notes"] == [
        "no interval: too few sentences, or all of them alike",
        "fewer than 30 sentences: intervals are too narrow",
        "no kappa: two annotators use one and the same category for all words",
        "no alpha: only one category, or no word, has values of two annotators",
    ]


def test_a_missing_relation_is_missing(run: Run, tmp_path: Path) -> None:
    paths = [tmp_path / name for name in "ab"]
    for path, labels in zip(paths, ("root dep dep obj", "root dep _ _")):
        rows = enumerate(labels.split(), start=1)
        text = "".join(f"{m}\tw\t_\t_\t_\t_\t{m - 1}\t{x}\t_\t_\n" for m, x in rows)
        path.write_text(text + "\n")
    options = ("--agreement", "--by", "relation", "--json")
    found = json.loads(run("evaluate", *paths, *options).out)
    alphas = {name: row["alpha"] for name, row in found["agreement"].items()}
    names = ("arc", "head", "label", "label dep", "label root")
    assert alphas == {**dict.fromkeys(names, 1.0), "label obj": None}
    assert found["confusions"] == []
    bare = tmp_path / "bare"
    bare.write_text("\t".join("1 w _ _ _ _ _ _ _ _".split()) + "\n\n")
    assert "no word has a head" in run("evaluate", bare, bare, "--agreement").complaint()
    # one of three uses a relation: the other two have no kappa, and a line says so
    paths[1].write_text(paths[0].read_text().replace("obj", "dep"))
    out = run("evaluate", *paths, paths[1], "--agreement", "--by", "relation").out
    (row,) = [line.split() for line in out.splitlines() if line.startswith("label obj")]
    assert row[3] == "-" and "no kappa: two annotators use one and the same category" in out


def test_breakdowns(run: Run, chains: Path) -> None:
    options = ["--by", "relation", "--by", "length", "--by", "relation"]
    lines = run("evaluate", DEV, chains, *options).out.splitlines()
    assert [line for line in lines if line.startswith("by ")] == ["by relation", "by length"]
    header = lines[lines.index("by length") + 1]
    assert header.split() == ["length", "sentences", "words", "UAS", "LAS", "complete"]
    lines = run("evaluate", DEV, chains, *options, "--against", DEV).out.splitlines()
    assert [line for line in lines if line[3:5] == "by"] == [
        "A, by relation",
        "A, by length",
        "B, by relation",
        "B, by length",
    ]
    asked = ("--by", "distance", "--json", "--against", DEV)
    found = json.loads(run("evaluate", DEV, chains, *asked).out)
    assert found["by"]["distance"][0]["distance"] == "root"
    assert found["against"]["by"]["distance"][0]["recall"] == 1.0


def test_graphs(run: Run, tmp_path: Path) -> None:
    """Both files need DEPS; the difference of two files is tested as that of other measures."""
    rows = "1\tI\t_\t_\t_\t_\t2\tnsubj\t{}\t_\n2\tgo\t_\t_\t_\t_\t0\troot\t0:root\t_\n\n"
    gold, other = tmp_path / "gold.conllu", tmp_path / "other.conllu"
    gold.write_text(20 * rows.format("2:nsubj:xsubj"))
    other.write_text(20 * rows.format("2:nsubj"))
    found = json.loads(run("evaluate", gold, other, "--against", gold, "--json").out)
    assert found["elas"] == 0.5 and found["eulas"] == 1.0
    assert found["differences"]["elas"]["p_value"] < 0.01
    lines = run("evaluate", gold, other, "--by", "enhancement").out.splitlines()
    assert "ELAS, enhanced graphs     50.00" in lines
    assert lines[-1].split() == ["label", "20", "0", "0.00", "0.00", "0.00"]


def test_errors(run: Run, tmp_path: Path) -> None:
    bad = tmp_path / "bad.conllu"
    bad.write_text("1\tA\n", encoding="utf-8")
    for arguments, message in (
        ((DEV, bad), "bad.conllu, line 1: expected 10 columns, found 2"),
        ((DEV, tmp_path / "none"), "none: cannot be read: No such file or directory"),
        (("-", "-"), "standard input: can be only one of the files"),
        ((DEV, "-", "--against", "-"), "standard input: can be only one of the files"),
        ((DEV, DEV, "--by", "enhancement"), "--by enhancement needs DEPS, which neither file has"),
        ((DEV, DEV, "--enhancements", "17"), "--enhancements is '17', expected digits from 1 to 6"),
    ):
        assert message in run("evaluate", *arguments).complaint()


def test_other_words_are_aligned(run: Run, tmp_path: Path) -> None:
    gold, other = tmp_path / "gold.conllu", tmp_path / "other.conllu"
    rows = "1-2\tdont\t_\t_\t_\t_\t_\t_\t_\t_\n1\tdo\t_\tAUX\t_\t_\t0\troot\t_\t_\n2\tnt\t_\tPART"
    gold.write_text(rows + "\t_\t_\t1\tadvmod\t_\t_\n\n", encoding="utf-8")
    other.write_text("1\tdont\t_\tAUX\t_\t_\t0\troot\t_\t_\n\n", encoding="utf-8")
    shown = run("evaluate", gold, other).out
    assert "F1" in shown and "sentences" in shown
    shares = json.loads(run("evaluate", gold, other, "--json").out)
    assert shares["tokens"] == shares["sentences"] == 1.0 and shares["words"] == 0.0
    complaint = run("evaluate", gold, other, "--by", "length").complaint()
    assert "need the same words" in complaint


def test_agreement_of_annotators(run: Run, tmp_path: Path) -> None:
    rows = ["1\tI\t_\tPRON\t_\t_\t2\tnsubj\t_\t_", "2\tsee\t_\tVERB\t_\t_\t0\troot\t_\t_"]
    block = "\n".join(rows) + "\n\n"
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_text(block * 4)
    other.write_text(block * 3 + block.replace("nsubj", "obj"))
    done = run("evaluate", one, other, one, "--agreement", "--by", "relation", "--resamples", 50)
    assert done.code == 0 and done.out.startswith("3 annotators, 8 words\n")
    lines = [line.split() for line in done.out.splitlines()]
    assert ["head", "100.00", "1.000", "-", "1.000", "-"] == lines[4]
    assert lines[-1] == ["nsubj", "obj", "2"]
    record = json.loads(run("evaluate", one, other, "--agreement", "--json").out)
    assert record["agreement"]["label"]["observed"] == 7 / 8
    assert record["agreement"]["upos"]["kappa"] == 1.0
    assert "needs --agreement" in run("evaluate", one, other, one).complaint()
    assert (
        "--agreement goes with"
        in run("evaluate", one, other, "--agreement", "--by", "length").complaint()
    )
