"""The model that comes with the package: it parses text, it is small, and its card is there."""

from __future__ import annotations

from pathlib import Path

import bbparse
from tests.apps.cli.conftest import Run

FOLDER = Path(bbparse.__file__).parent / "models" / "shipped"


def test_each_model_is_small_and_has_a_card() -> None:
    total = 0
    for path in FOLDER.glob("*.model"):
        total += path.stat().st_size
        card = path.with_suffix(".md").read_text(encoding="utf-8")
        for promised in ("CC BY-SA 4.0", "configs/english.toml", "bbparse train", "UAS"):
            assert promised in card
    assert 0 < total < 90_000_000  # all of it is in the wheel


def test_text_is_parsed_and_tagged_where_no_model_is_named(run: Run, tmp_path: Path) -> None:
    (tmp_path / "dog.txt").write_text("The dog chased a cat.\n", encoding="utf-8")
    done = run("parse", tmp_path / "dog.txt")
    words = [line.split("\t") for line in done.out.splitlines() if line[:1].isdigit()]
    assert [word[1] for word in words] == ["The", "dog", "chased", "a", "cat", "."]
    assert [word[6] for word in words] == ["2", "3", "0", "5", "3", "3"]
    assert [word[7] for word in words][:3] == ["det", "nsubj", "root"]
    bare = tmp_path / "bare.conllu"
    rest = "\t_" * 8
    bare.write_text(f"1\tShe{rest}\n2\tslept{rest}\n\n", encoding="utf-8")
    words = [line.split("\t")[1:4] for line in run("tag", bare).out.splitlines() if line]
    assert words == [["She", "she", "PRON"], ["slept", "sleep", "VERB"]]
