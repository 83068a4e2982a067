"""A run that is interrupted and goes on ends with exactly the model of one that was not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bbparse.models.configuration import Configuration
from bbparse.parser.parser import Parser
from bbparse.runtime.errors import ModelError
from tests import toy
from tests.models.learning.interrupted import interrupt

SENTENCES, DEV = list(toy.sentences()[:40]), list(toy.dev_sentences()[:10])


def configuration(method: str = "perceptron", epochs: int = 3) -> Configuration:
    config = toy.configuration()
    return config.with_("learning", method=method, epochs=epochs, cost=1.0, seed=5)


def bytes_of(parser: Parser, folder: Path) -> bytes:
    parser.save(folder / "a.model")
    return (folder / "a.model").read_bytes()


@pytest.mark.parametrize(
    ("method", "dev", "done"), [("perceptron", DEV, 1), ("perceptron", (), 2), ("adagrad", DEV, 0)]
)
def test_going_on_gives_the_same_model(tmp_path: Path, method: str, dev: Any, done: int) -> None:
    config, path = configuration(method), tmp_path / "run.checkpoint"
    others = ["run.checkpoint.txt", "run.checkpoints"]
    for name in others:
        (tmp_path / name).touch()
    whole = bytes_of(Parser.train(SENTENCES, dev, config), tmp_path)
    for epoch in range(1, done + 2):  # again and again
        interrupt(f"epoch {epoch}:", SENTENCES, dev, config, checkpoint=path)
    assert path.exists() == (done > 0)
    lines: list[str] = []
    resumed = Parser.train(SENTENCES, dev, config, checkpoint=path, report=lines.append)
    assert lines[0] == f"{path if done else f'{path}.pruner'}: resuming an earlier run"
    assert (f"resuming after epoch {done} of an earlier run" in lines) == (done > 0)
    assert bytes_of(resumed, tmp_path) == whole
    # nothing is left behind, and what another program wrote is there
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.model", *others]


def test_more_epochs_go_on_from_fewer(tmp_path: Path) -> None:
    path = tmp_path / "run.checkpoint"
    interrupt("epoch 3:", SENTENCES, DEV, configuration(epochs=3), checkpoint=path)
    whole = Parser.train(SENTENCES, DEV, configuration(epochs=4))
    longer = Parser.train(SENTENCES, DEV, configuration(epochs=4), checkpoint=path)
    assert bytes_of(longer, tmp_path) == bytes_of(whole, tmp_path)
    interrupt("epoch 3:", SENTENCES, DEV, configuration(epochs=3), checkpoint=path)
    # Fewer than were done already: the best of those done.
    shorter = Parser.train(SENTENCES, DEV, configuration(epochs=1), checkpoint=path)
    assert shorter.model.notes["epoch"] in (1, 2)


@pytest.mark.parametrize("what", ["sentences", "dev", "factors", "templates"])
def test_a_checkpoint_of_another_run_is_not_used(tmp_path: Path, what: str) -> None:
    path, config, sentences, dev = tmp_path / "run", configuration(epochs=2), SENTENCES, DEV
    interrupt("epoch 2:", sentences, dev, config, checkpoint=path)
    options: dict[str, Any] = {}
    if what == "sentences":
        sentences = sentences[1:]
    elif what == "dev":
        dev = dev[1:]
    elif what == "factors":
        options["factors"] = ["combs"]
    else:
        table = config.to_table()
        table["templates"]["arc"] = table["templates"]["arc"][1:]
        config = Configuration.from_table(table)
    lines: list[str] = []
    Parser.train(sentences, dev, config, checkpoint=path, report=lines.append, **options)
    assert not any("resuming after" in line for line in lines)


def test_a_damaged_checkpoint_is_named(tmp_path: Path) -> None:
    path, config = tmp_path / "run.checkpoint", configuration(epochs=2)
    interrupt("epoch 2:", SENTENCES, DEV, config, checkpoint=path)
    for damaged in (path, path.with_name("run.checkpoint.pruner-fold-2")):
        whole = damaged.read_bytes()
        damaged.write_bytes(whole[: len(whole) // 2])
        with pytest.raises(ModelError, match=f"{damaged.name}: not a complete.*; remove it to"):
            Parser.train(SENTENCES, DEV, config, checkpoint=path)
        damaged.write_bytes(whole)
