"""Shards in, shards out: the same bytes whatever is lost on the way, and nothing twice."""

from __future__ import annotations

import gzip
import json
import lzma
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import bbparse
from bbparse.apps.corpus import run
from bbparse.apps.corpus.files import FileOptions
from bbparse.apps.corpus.run import parse_corpus
from bbparse.apps.corpus.work import LOCK, Manifest, Outcome, ParseSpec, Task, locked, parse_task
from bbparse.parser.parser import Parser
from bbparse.parser.validity.conditions import ArcCondition, Rule
from bbparse.parser.validity.rules import Rules
from bbparse.runtime.errors import ModelError, OutputError, TreebankError
from bbparse.runtime.output import open_binary_output
from bbparse.runtime.pool import CAN_FORK
from bbparse.treebank import read_conllu
from tests import toy

Contents = Callable[[Path], dict[str, bytes]]
needs_forks = pytest.mark.skipif(not CAN_FORK, reason="processes are not forked")


def parse(shards: Path, out: Path, spec: ParseSpec, **options: object) -> Counter[str]:
    return parse_corpus([f"{shards}/*.conllu.xz"], out, spec, **options)  # type: ignore[arg-type]


def test_the_same_bytes_whatever_the_number_of_workers(
    shards: Path, tmp_path: Path, spec: ParseSpec, contents: Contents
) -> None:
    one, three = tmp_path / "one", tmp_path / "a" / "three"
    done = parse(shards, one, spec)
    assert (done["parsed"], done["kept"], done["failed"]) == (8, 0, 0)
    assert parse(shards, three, spec, workers=3) == done
    assert contents(one) == contents(three)
    sentences = 0
    for shard in shards.iterdir():
        expected = [found.trees[0].heads for found in toy.parser().parse_all(read_conllu(shard))]
        trees = list(read_conllu(one / shard.name))
        assert [tuple(sentence.heads) for sentence in trees] == expected
        sentences += len(trees)
    header, *lines = map(json.loads, (one / "manifest.jsonl").read_text().splitlines())
    assert header["model"] == "toy.model"
    assert done["sentences"] == sentences == sum(line["sentences"] for line in lines)
    assert done["words"] == sum(line["words"] for line in lines)
    assert [line["output"] for line in lines] == sorted(path.name for path in shards.iterdir())


def test_what_is_done_is_kept_as_long_as_it_is_what_it_was(
    shards: Path, tmp_path: Path, spec: ParseSpec, contents: Contents, model: Path
) -> None:
    out = tmp_path / "out"
    parse(shards, out, spec)
    first = contents(out)
    dates = {path: path.stat().st_mtime_ns for path in out.glob("*.xz")}
    assert parse(shards, out, spec, workers=2) == {"kept": 8}
    assert dates == {path: path.stat().st_mtime_ns for path in out.glob("*.xz")}
    # cut off, changed, gone
    (out / "shard-0.conllu.xz").write_bytes(first["shard-0.conllu.xz"][:-8])
    (out / "shard-1.conllu.xz").write_bytes(b"")
    (out / "shard-2.conllu.xz").unlink()
    done = parse(shards, out, spec)
    assert (done["parsed"], done["kept"]) == (3, 5)
    assert contents(out) == first
    # the same name with another content; and another name
    (shards / "shard-3.conllu.xz").write_bytes((shards / "shard-4.conllu.xz").read_bytes())
    (shards / "shard-5.conllu.xz").rename(shards / "shard-9.conllu.xz")
    done = parse(shards, out, spec)
    assert (done["parsed"], done["kept"]) == (2, 6)
    assert (out / "shard-3.conllu.xz").read_bytes() == first["shard-4.conllu.xz"]
    # other settings, another model of the same name
    done = parse(shards, out, ParseSpec(model, FileOptions(prune=2)))
    assert (done["parsed"], done["kept"]) == (8, 0)
    other = tmp_path / "toy.model"
    Parser(replace(toy.parser().model, notes={"another": 1})).save(other)
    assert parse(shards, out, ParseSpec(other, FileOptions(prune=2)))["parsed"] == 8
    # other rules in a file of the same name
    rules, specs = tmp_path / "rules.toml", []
    for label in ("obj", "obl"):
        rules.write_text(f"[[rule]]\nname = 'mine'\narc = 'label={label}'\n")
        specs.append(ParseSpec(model, FileOptions(valid=str(rules))))
    assert specs[0].digest != specs[1].digest


def test_other_code_of_a_plug_in_is_another_recipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The code of factor families, and the rules of a plug-in, wherever they come from."""
    monkeypatch.syspath_prepend(str(tmp_path))
    family = (
        "from bbparse.factors import FactorFamily\nclass Mine(FactorFamily):\n    name = 'mine'\n"
    )
    code, path = tmp_path / "their_family.py", tmp_path / "toy.model"
    code.write_text(family)
    known = toy.parser().model
    config = known.config.with_("factors", families=("their_family:Mine",))
    Parser(replace(known, maker=replace(known.maker, config=config))).save(path)

    def digest(**options: Any) -> str:
        return ParseSpec(path, FileOptions(**options), ["their_family:Mine"]).digest

    first = digest()
    assert digest() == first
    code.write_text(family + "# changed\n")
    assert digest() != first
    point = EntryPoint("theirs", "their_rules:RULES", "bbparse.rules")
    monkeypatch.setattr("bbparse.parser.validity.rules.entry_points", lambda group: [point])
    digests = set()
    for label in ("obj", "obl", "obj"):
        made = Rules([Rule("mine", (ArcCondition.parse(f"label={label}"),))])
        monkeypatch.setitem(sys.modules, "their_rules", SimpleNamespace(RULES=made))
        digests |= {digest(valid="theirs"), digest(valid=made)}
    assert len(digests) == 4


def test_a_corrupt_shard_is_named_and_the_rest_is_done(
    shards: Path, tmp_path: Path, spec: ParseSpec
) -> None:
    out = tmp_path / "out"
    parse(shards, out, spec)
    text = lzma.decompress((shards / "shard-0.conllu.xz").read_bytes())
    (shards / "shard-0.conllu.xz").write_bytes(lzma.compress(text + b"1\tone\ttwo\n\n"))
    whole = (shards / "shard-1.conllu.xz").read_bytes()
    (shards / "shard-1.conllu.xz").write_bytes(whole[: len(whole) // 2])
    told: list[str] = []
    done = parse(shards, out, spec, workers=2, tell=told.append)
    assert (done["parsed"], done["kept"], done["failed"]) == (0, 6, 2)
    line = text.count(b"\n") + 1
    name = str(shards / "shard-0.conllu.xz")
    assert f"{name}, line {line}: expected 10 columns, found 3" in told
    assert any("shard-1.conllu.xz: cannot be read" in text for text in told)
    assert len(list(out.glob("*.xz"))) == 6, "what is old is no output of what is corrupt"
    assert Manifest(out).entries["shard-0.conllu.xz"].error in told
    # mended, it is done
    (shards / "shard-1.conllu.xz").write_bytes(whole)
    done = parse(shards, out, spec, tell=told.append)
    assert (done["parsed"], done["kept"], done["failed"]) == (1, 6, 1)


@needs_forks
def test_a_shard_that_kills_is_given_up(
    shards: Path, tmp_path: Path, spec: ParseSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies(spec: ParseSpec, task: Task) -> Outcome:
        if "shard-3" in task.shard.name:
            with open_binary_output(task.output):
                os.kill(os.getpid(), signal.SIGKILL)
        return parse_task(spec, task)

    monkeypatch.setattr(run, "parse_task", dies)
    told: list[str] = []
    done = parse(shards, tmp_path / "out", spec, workers=2, tell=told.append)
    assert (done["parsed"], done["failed"]) == (7, 1)
    assert not list((tmp_path / "out").glob(".bbparse-*.tmp"))
    (line,) = told
    assert "shard-3.conllu.xz: the process that parsed it died" in line


COMMAND = [sys.executable, "-m", "bbparse", "parse", "--threads", "2", "--output-dir"]


@needs_forks
def test_a_run_that_is_killed_goes_on(
    shards: Path, tmp_path: Path, spec: ParseSpec, model: Path, contents: Contents
) -> None:
    one, out = tmp_path / "one", tmp_path / "out"
    parse(shards, one, spec)
    command = [*COMMAND, str(out), f"{shards}/*.xz", "--model", str(model)]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as run:
        # two workers: the third output is of one that has told of another
        while run.poll() is None and len(list(out.glob("*.xz"))) < 3:
            time.sleep(0.002)
        run.kill()
    # at once, and whatever it was that was being written
    done = parse(shards, out, spec, workers=2)
    assert done["parsed"] + done["kept"] == 8 and done["kept"] and not done["failed"]
    assert contents(out) == contents(one)
    assert {path.name for path in out.iterdir()} == {*contents(one), LOCK}


def test_a_folder_has_one_run(
    shards: Path, tmp_path: Path, spec: ParseSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bbparse.apps.corpus.work.PATIENCE", 0.1)
    out = tmp_path / "out"
    with locked(out):
        if os.name == "posix":
            with pytest.raises(OutputError, match="another run is writing here"):
                parse(shards, out, spec)
    # of a process that is gone, which had no time to say so
    (out / LOCK).write_text("0123456789abcdef")
    assert parse(shards, out, spec)["parsed"] == 8


def test_names_of_outputs(tmp_path: Path, spec: ParseSpec, shards: Path, model: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.conllu").write_bytes(toy.DEV.read_bytes())
    out = tmp_path / "out"
    both = r"a/x.conllu and .*b/x.conllu: both would be written as .*out/x.conllu"
    with pytest.raises(OutputError, match=both):
        parse_corpus([f"{tmp_path}/?/x.conllu"], out, spec)
    with pytest.raises(OutputError, match="its output would overwrite it"):
        parse_corpus([f"{tmp_path}/a/*"], tmp_path / "a", spec)
    with pytest.raises(TreebankError, match="names no file"):
        parse_corpus([f"{tmp_path}/a/*.xz"], out, spec)
    with pytest.raises(TreebankError, match="is a folder"):
        parse_corpus([str(tmp_path)], out, spec)
    assert not out.exists()
    lines = ParseSpec(model, FileOptions(format_name="jsonl"))
    twice = [f"{tmp_path}/a/*", str(tmp_path / "a" / "x.conllu")]
    assert parse_corpus(twice, out, lines)["parsed"] == 1
    assert json.loads((out / "x.jsonl").read_text().splitlines()[0])["trees"]


@pytest.mark.parametrize(
    ("where", "what"),
    [("manifest.jsonl", '{"something": "else"}\n'), ("manifest.jsonl", "[1, 2]\n"), (".", "")],
)
def test_what_else_lies_there_is_left_alone(
    shards: Path, tmp_path: Path, spec: ParseSpec, where: str, what: str
) -> None:
    out = tmp_path / "out"
    if where == ".":
        out.write_text(what)
    else:
        out.mkdir()
        (out / where).write_text(what)
    with pytest.raises(OutputError, match=r"not a manifest|cannot be written"):
        parse(shards, out, spec)
    assert (out / where if where != "." else out).read_text() == what


def test_what_is_no_fault_of_a_shard_ends_the_run(
    shards: Path, tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ModelError, match="no such file"):
        ParseSpec("nothing.model")
    damaged = tmp_path / "damaged.model"
    damaged.write_bytes(model.read_bytes()[:-100])
    with pytest.raises(ModelError, match=r"^.*damaged\.model: not a complete"):
        ParseSpec(damaged)
    with pytest.raises(ModelError, match="calibrate"):
        ParseSpec(model, FileOptions(confidence=True))
    with pytest.raises(TreebankError, match="no word has Entities= in MISC"):
        parse(shards, tmp_path / "out", ParseSpec(model, FileOptions(spans="Entities")))
    assert not (tmp_path / "out").exists()


def test_text(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "a.txt.gz", "wt", encoding="utf-8") as file:
        file.write("Time flies like an arrow. Fruit flies like a banana.\n")
    out = tmp_path / "out"
    done = parse_corpus([str(tmp_path / "a.txt.gz")], out, ParseSpec())
    assert (done["parsed"], done["sentences"], done["words"]) == (1, 2, 12)
    found = bbparse.load()("Time flies like an arrow. Fruit flies like a banana.")
    trees = list(read_conllu(out / "a.conllu.gz"))
    assert [tuple(one.heads) for one in trees] == [one.trees[0].heads for one in found]
