"""``bbparse parse``: the whole way, k best, pipes, and every kind of bad input."""

from __future__ import annotations

import gzip
import io
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bbparse.parser import batch
from bbparse.parser.parse import Parse
from bbparse.parser.parser import Parser
from bbparse.runtime import pool
from bbparse.runtime.pool import CAN_FORK
from bbparse.treebank import evaluate, read_conllu, sections
from tests import toy
from tests.apps.cli.conftest import Done, Run
from tests.apps.cli.test_workers import KINDS

ROW = "1\tHello\thello\tINTJ\tUH\t_\t_\t_\t_\t_"


def without_heads(text: str) -> str:
    """The same file with nothing in the columns that the parser writes."""
    lines = []
    for line in text.split("\n"):
        columns = line.split("\t")
        if len(columns) == 10:
            columns[6] = columns[7] = "_"
        lines.append("\t".join(columns))
    return "\n".join(lines)


def test_only_head_and_deprel_change(run: Run, model: Path, tmp_path: Path) -> None:
    source, output = tmp_path / "in.conllu", tmp_path / "out.conllu"
    text = toy.DEV.read_text(encoding="utf-8")
    source.write_text(without_heads(text), encoding="utf-8")
    done = run("parse", source, "--model", model, "--output", output)
    assert (done.code, done.out, done.err) == (0, "", "")
    assert without_heads(output.read_text(encoding="utf-8")) == without_heads(text)
    assert evaluate(read_conllu(toy.DEV), read_conllu(output)).uas > 0.85
    # Gold trees in the input make no difference, nor where the output goes.
    assert run("parse", toy.DEV, "--model", model).out == output.read_text(encoding="utf-8")
    parser = Parser.load(model)
    for options, prune in (((), None), (("--prune", "3"), 3), (("--prune", "none"), 0)):
        done = run("parse", toy.DEV, "--model", model, *options)
        for sentence in read_conllu(io.StringIO(done.out)):
            (tree,) = parser.parse(sentence, prune=prune)
            assert tuple(sentence.heads) == tree.heads
            assert tuple(sentence.deprels) == tree.labels


def test_k_best(run: Run, model: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.conllu.gz"
    assert run("parse", toy.DEV, "--model", model, "--k-best", "3", "--output", output).code == 0
    with gzip.open(output, "rt", encoding="utf-8") as stream:
        trees = iter(list(read_conllu(stream)))
    parser = Parser.load(model)
    for sentence in toy.dev_sentences():
        expected = parser.parse(sentence, k_best=3)
        for k, tree in enumerate(expected, start=1):
            block = next(trees)
            assert {*block.lines} >= {
                f"# tree = {k} of {len(expected)}",
                f"# score = {tree.score:.6f}",
                f"# upper_bound = {tree.upper_bound:.6f}",
                "# proved = yes",
            }
            assert (block.name, block.forms) == (sentence.name, sentence.forms)
            assert (tuple(block.heads), tuple(block.deprels)) == (tree.heads, tree.labels)
    assert next(trees, None) is None


@pytest.fixture(params=KINDS)
def in_parallel(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Done]:
    """Run a command with two workers on many small sections."""
    monkeypatch.setattr(pool, "CAN_FORK", request.param)
    monkeypatch.setattr(sections, "SECTION_WORDS", 40)
    run = request.getfixturevalue("run")
    return lambda *arguments: run(*arguments, "--threads", "2")


@pytest.mark.parametrize("options", [["--k-best", "3"], ["--keep-heads"], ["--format", "tree"]])
def test_threads_change_nothing(
    run: Run, in_parallel: Run, model: Path, tmp_path: Path, options: list[str]
) -> None:
    source = tmp_path / "odd.conllu"
    raw = toy.DEV.read_text(encoding="utf-8")
    source.write_text(
        "\ufeff"
        + raw.replace("\n\n# sent_id", "\n\n \n\n# sent_id", 5)
        + raw.rstrip("\n").replace("\n", "\r\n")
        + "\r\n\r\n\r\n"
        + raw.rstrip("\n"),
        encoding="utf-8",
        newline="",
    )
    one = run("parse", source, "--model", model, *options)
    assert one.code == 0 and one.out
    assert in_parallel("parse", source, "--model", model, *options) == one
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    assert run("parse", toy.TRAIN, "--model", model, "-o", whole, *options).code == 0
    assert in_parallel("parse", toy.TRAIN, "--model", model, "-o", parts, *options).code == 0
    assert parts.read_bytes() == whole.read_bytes() != b""


def test_blank_lines_stay_however_the_input_comes(
    run: Run, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    breaks = [1, 2, 3, 1, 2, 3]
    text = "".join(f"{ROW}\n{ROW.replace('1', '2', 1)}\n" + "\n" * count for count in breaks)
    outputs = set()
    for size, threads in product((1, 5, 1000), ("1", "2")):
        stream = io.BytesIO(text.encode())
        stdin = SimpleNamespace(read1=lambda _, stream=stream, size=size: stream.read(size))
        given = SimpleNamespace(buffer=stdin, fileno=stream.fileno, close=int)
        monkeypatch.setattr("sys.stdin", given)
        done = run("parse", "--model", model, "--k-best", "2", "--threads", threads)
        assert done.code == 0
        outputs.add(done.out)
    (out,) = outputs
    found = [len(lines) - 1 for lines in re.findall(r"\n\n+", out)]
    assert found[1::2] == breaks
    assert found[::2] == [1] * 6, "between two trees of a sentence there is one"


def test_through_pipes(model: Path) -> None:
    """From standard input to standard output, in a process of its own."""
    given = without_heads(toy.DEV.read_text(encoding="utf-8"))
    command = [sys.executable, "-m", "bbparse", "parse", "--model", str(model)]
    done = subprocess.run(command, input=given.encode(), capture_output=True, timeout=300)
    assert done.returncode == 0
    assert done.stderr == b""
    text = done.stdout.decode()
    assert without_heads(text) == given
    bad = subprocess.run(command, input=b"1\tx\n\n", capture_output=True, timeout=300)
    assert bad.returncode == 2
    assert bad.stderr == b"bbparse: error: standard input, line 1: expected 10 columns, found 2\n"


def test_a_bad_sentence_is_named_and_no_half_file_stays(
    run: Run, model: Path, tmp_path: Path
) -> None:
    good = f"{ROW}\n2\t.\t.\tPUNCT\t.\t_\t_\t_\t_\t_\n\n"
    source, output = tmp_path / "bad.conllu", tmp_path / "out.conllu"
    source.write_text(good + "1\tHello\n\n" + good)
    start = ("parse", source, "--model", model, "--output", output, "--threads")
    for threads in ("1", "2"):
        complaint = run(*start, threads).complaint()
        assert complaint == f"{source}, line 4: expected 10 columns, found 2"
        assert list(tmp_path.iterdir()) == [source]
    output.write_text("what was there before")
    assert run(*start, "1").code == 2
    assert output.read_text() == "what was there before"


def test_an_output_that_cannot_be_written(run: Run, model: Path, tmp_path: Path) -> None:
    for path in (tmp_path / "no" / "out.conllu", tmp_path, Path("/proc/out.conllu"), "/dev/full"):
        complaint = run("parse", toy.DEV, "--model", model, "--output", path).complaint()
        assert complaint.startswith(f"{path}: cannot be written: ")
    assert complaint.endswith("No space left on device") and list(tmp_path.iterdir()) == []


def test_heads_that_are_there_can_be_kept(run: Run, model: Path, tmp_path: Path) -> None:
    def given(name: str, *rows: str) -> Path:
        lines = [row.split() for row in rows]
        (tmp_path / name).write_text(
            "".join(
                f"{i}\t{form}\t_\t{upos}\t_\t_\t{head}\t{label}\t_\t_\n"
                for i, (form, upos, head, label) in enumerate(lines, 1)
            )
            + "\n",
            encoding="utf-8",
        )
        return tmp_path / name

    source = given("some.conllu", "I PRON _ _", "saw VERB _ _", "stars NOUN 1 odd")
    kept = run("parse", source, "--model", model, "--keep-heads")
    words = [line.split("\t") for line in kept.out.splitlines() if line]
    assert (words[2][6], words[2][7]) == ("1", "odd")
    assert all(word[6] != "_" and word[7] != "_" for word in words)
    free = run("parse", source, "--model", model)
    assert free.code == 0 and "\todd\t" not in free.out
    source = given("crossed.conllu", "a DET 3 _", "b NOUN 4 _", "c VERB _ _", "c VERB _ _")
    done = run("parse", source, "--model", model, "--keep-heads", "--projective", "yes")
    assert "all fixed heads: the arcs 3 → 1, 4 → 2 cross" in done.complaint()


BAD = {
    "columns": "1\tHello\n\n",
    "no UTF-8": ROW.replace("hello", "\udcff") + "\n\n",
    "only a comment": "# text\n\n",
    "too long": "".join(f"{i}{ROW[1:]}\n" for i in range(1, 501)) + "\n",
    "no tags": "1\tHello\t_\t_\t_\t_\t_\t_\t_\t_\n\n",
    "the end": ROW[:9],
}


@pytest.mark.parametrize("before", [1, 30])
@pytest.mark.parametrize("kind", list(BAD))
def test_errors_do_not_depend_on_threads(
    run: Run, in_parallel: Run, model: Path, tmp_path: Path, before: int, kind: str
) -> None:
    source = tmp_path / "bad.conllu"
    good = "".join(f"{i}{ROW[1:]}\n" for i in range(1, 4)) + "\n"
    text = good * before + BAD[kind] + (good * 30) * (kind != "the end")
    source.write_bytes(text.encode("utf-8", "surrogateescape"))
    one = run("parse", source, "--model", model, "--prune", "none")
    assert one.complaint().startswith(str(source))
    assert one.out.count("root") == before, "what stands before the error is written"
    assert in_parallel("parse", source, "--model", model, "--prune", "none") == one


if CAN_FORK:

    def test_a_worker_that_is_killed_is_told_in_one_line(
        run: Run, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        here, parse = os.getpid(), batch.parse_batch

        def deadly(*args: Any, **how: Any) -> list[Parse]:
            if os.getpid() != here:
                os.kill(os.getpid(), signal.SIGKILL)
            return parse(*args, **how)

        monkeypatch.setattr(batch, "parse_batch", deadly)
        monkeypatch.setattr(sections, "SECTION_WORDS", 40)
        output = tmp_path / "out.conllu"
        done = run("parse", toy.TRAIN, "--model", model, "-o", output, "--threads", "2")
        assert "process died, perhaps because memory ran out" in done.complaint()
        assert list(tmp_path.iterdir()) == []

    def test_a_conversation_that_is_interrupted(model: Path) -> None:
        """Each sentence is answered before the next is there, and Ctrl-C ends it in one line."""
        command = [sys.executable, "-m", "bbparse", "parse", "--model", str(model)]
        command += ["--threads", "2", "--format", "jsonl"]
        with subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        ) as talk:
            assert talk.stdin is not None and talk.stdout is not None and talk.stderr is not None
            for number in range(1, 6):
                talk.stdin.write(f"{ROW}\n\n".encode())
                talk.stdin.flush()
                assert f'"sentence #{number}"' in talk.stdout.readline().decode()
            os.killpg(talk.pid, signal.SIGINT)  # the workers hear it, too
            assert talk.wait(60) == 130
            assert talk.stderr.read() == b"bbparse: interrupted\n"

    def test_a_reader_that_leaves(model: Path, tmp_path: Path) -> None:
        source = tmp_path / "long.conllu"
        source.write_text(f"{ROW}\n\n" * 100_000)
        command = [sys.executable, "-m", "bbparse", "parse", str(source)]
        command += ["--model", str(model), "--threads", "2"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as done:
            assert done.stdout is not None and done.stderr is not None
            assert done.stdout.readline()
            done.stdout.close()
            assert done.wait(60) == 141
            assert done.stderr.read() == b""


def test_a_projective_model_cannot_be_asked_for_crossing_trees(run: Run, model: Path) -> None:
    plain = run("parse", toy.DEV, "--model", model)
    assert run("parse", toy.DEV, "--model", model, "--projective", "yes").out == plain.out
    done = run("parse", toy.DEV, "--model", model, "--projective", "no")
    assert done.out == "" and done.complaint() == (
        "the model was trained on projective trees and cannot draw crossing arcs: train one"
        " with --projective no"
    )


def test_no_more_networks_than_a_model_has(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "two.model"
    config = toy.network_configuration().with_("network", members=2, epochs=1)
    Parser.train(toy.sentences()[:20], config=config).save(path)
    outs = [
        run("parse", toy.DEV, "--model", path, *some).out
        for some in ([], ["--members", "2"], ["--members", "1"])
    ]
    assert outs[0] == outs[1] != outs[2]
    done = run("parse", toy.DEV, "--model", path, "--members", "3")
    assert done.complaint() == "the model has 2 networks, not 3"
