"""``bbparse parse --output-dir``: what is said, and with what status it ends."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests import toy
from tests.cli.conftest import Done

Run = Callable[..., Done]


def test_shards(run: Run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for name in ("a", "b"):
        (tmp_path / "in" / f"{name}.conllu").write_bytes(toy.DEV.read_bytes())
    out = tmp_path / "out"
    command = ["parse", f"{tmp_path}/in/*.conllu", "--model", model, "--output-dir", out]
    done = run(*command, "--threads", "2")
    assert done.code == 0 and done.out == ""
    assert done.err.startswith("bbparse: 2 shards parsed (") and "0 were done" in done.err
    alone = run("parse", toy.DEV, "--model", model).out.encode()
    assert {path.read_bytes() for path in out.glob("*.conllu")} == {alone}
    (tmp_path / "in" / "c.conllu").write_text("1\tone\n")
    done = run(*command)
    assert "0 shards parsed (0 sentences, 0 words), 2 were done already" in done.err
    assert f"bbparse: {tmp_path}/in/c.conllu, line 1: expected 10 columns" in done.err
    assert done.complaint() == f"1 shards cannot be parsed: see above, and {out}/manifest.jsonl"


def test_invalid_sentences_are_left_out(run: Run, model: Path, tmp_path: Path) -> None:
    good = toy.DEV.read_text(encoding="utf-8")
    (tmp_path / "some.conllu").write_text(f"1\tone\n\n{good}", encoding="utf-8")
    (tmp_path / "none.conllu").write_text("1\tone\n\n2\ttwo\n", encoding="utf-8")
    ring = "".join(f"{i}\tw\t_\tX\tX\t_\t{3 - i}\t_\t_\t_\n" for i in (1, 2))
    (tmp_path / "heads.conllu").write_text(f"{ring}\n{good}", encoding="utf-8")
    out = tmp_path / "out"
    command = ["parse", f"{tmp_path}/*.conllu", "--model", model, "--output-dir", out]
    done = run(*command, "--skip-invalid", "--keep-heads")
    first = f"left out: {tmp_path}/some.conllu, line 1: expected 10 columns"
    cycle = f"left out: {tmp_path}/heads.conllu, line 1: "
    assert sum(first in line for line in done.err.splitlines()) == 1
    assert sum(cycle in line for line in done.err.splitlines()) == 1
    assert f"{tmp_path}/none.conllu: no sentence is left to parse: 2 are invalid" in done.err
    assert "2 shards parsed (" in done.err and "; 2 sentences were left out" in done.err
    alone = run("parse", toy.DEV, "--model", model, "--keep-heads").out
    assert (out / "some.conllu").read_text(encoding="utf-8") == alone
    assert (out / "heads.conllu").read_text(encoding="utf-8").endswith(alone)
    manifest = (out / "manifest.jsonl").read_text(encoding="utf-8")
    assert manifest.count('"left_out": 1') == 2


def test_what_does_not_go_together(run: Run, model: Path, tmp_path: Path) -> None:
    both = run("parse", toy.DEV, "--output", tmp_path / "x", "--output-dir", tmp_path)
    assert "--output is for one file" in both.complaint()
    assert "give --output-dir, too" in run("parse", toy.DEV, "--cluster", "auto").complaint()
    none = run("parse", tmp_path / "*.xz", "--output-dir", tmp_path, "--model", model)
    assert none.complaint().endswith("a shard, or a pattern such as 'in/*.conllu'")
