"""Model files: what is written comes back, and what is damaged is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from bbparse.apps.cli.explain import explain
from bbparse.apps.cli.parse import parse
from bbparse.apps.cli.tune import tune
from bbparse.core import Problem
from bbparse.factors import FactorFamily
from bbparse.models.model_file import KIND, load_tagger
from bbparse.parser.parser import Parser
from bbparse.runtime.archive import write_archive
from bbparse.runtime.errors import FactorError, ModelError, OutputError
from tests import toy
from tests.archives import fields_of

Fields = dict[str, Any]


def rewritten(model: Path, change: Callable[[Fields], Any]) -> Path:
    """A copy of a model with something changed."""
    fields = fields_of(model)
    change(fields)
    path = model.with_name("changed.model")
    write_archive(path, KIND, fields)
    return path


@pytest.mark.parametrize("make", [toy.parser, toy.network_parser])
def test_a_loaded_model_finds_the_same_trees(make: Callable[[], Parser], tmp_path: Path) -> None:
    parser, path = make(), tmp_path / "one.model"
    parser.save(path)
    loaded = Parser.load(path)
    assert loaded.model.config == parser.model.config
    # As text: a nan does not equal itself.
    assert str(sorted(loaded.model.notes.items())) == str(sorted(parser.model.notes.items()))
    assert [f.name for f in loaded.model.maker.families] == ["siblings", "grandchildren"]
    for sentence in toy.dev_sentences():
        for k in (1, 3):
            assert loaded.parse(sentence, k_best=k) == parser.parse(sentence, k_best=k)
        assert loaded.parse(sentence, prune=2) == parser.parse(sentence, prune=2)
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == path.read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["again", "one.model"]


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    """Other damage of archives: see tests/core/test_files.py."""
    Problem(1, [0], [1], [1.0]).save(tmp_path / "problem.npz")
    for name, message in (
        ("none.model", r"none\.model: no such file"),
        ("problem.npz", r"holds a 'bbparse\.Problem', expected a 'bbparse\.Model"),
    ):
        with pytest.raises(ModelError, match=message):
            Parser.load(tmp_path / name)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a: a.pop("pruner"), "model: 'pruner' is missing"),
        (lambda a: a.update(extra=np.zeros(1)), "field 'extra' is unknown"),
        (lambda a: a.update(backbone=a["backbone"][1:]), "backbone has 32767 elements of dtype"),
        (lambda a: a.update(label=a["label"].astype(np.int32)), "dtype int32, expected .* int16"),
        (lambda a: a["labels"].pop("names"), "labels: 'names' is missing"),
        (lambda a: a["labels"]["names"].reverse(), r"labels\[1\] is"),
        (lambda a: a["labels"].update(root=99), "root is 99"),
        (lambda a: a.update(factor_keys=a["factor_keys"][::-1].copy()), "strictly ascending keys"),
        (lambda a: a["factor_weights"].fill(np.nan), "weights .* expected finite numbers"),
        (lambda a: a.update(model=[]), "field model is no dict"),
        (lambda a: a.pop("model"), "field model is missing"),
        (lambda a: a["model"].pop("notes"), "model: 'notes' is missing"),
        (lambda a: a["model"]["configuration"]["model"].update(depth=3), "unknown key 'depth'"),
        (lambda a: a["model"]["configuration"].pop("templates"), "is missing"),
        (lambda a: a["model"].update(notes=7), "card is damaged: notes is 7, expected dict"),
        (lambda a: a["model"]["notes"].update(card=7), "damaged: card is 7, expected dict"),
        (lambda a: a["labels"].update(names=[1]), r"names is \[1\], expected list\[str\]"),
        (lambda a: a["labels"].update(root="x"), "damaged: root is 'x', expected int"),
    ],
)
def test_damaged_fields_are_named(
    model: Path, change: Callable[[Fields], Any], message: str
) -> None:
    with pytest.raises(ModelError, match=message) as caught:
        Parser.load(rewritten(model, change))
    assert "changed.model" in str(caught.value)


@pytest.mark.parametrize("bug", [TypeError, ValueError, KeyError, AttributeError])
def test_a_bug_is_no_damage(
    model: Path, monkeypatch: pytest.MonkeyPatch, bug: type[Exception]
) -> None:
    def fails(*given: Any) -> None:
        raise bug

    monkeypatch.setattr("bbparse.models.model_file.Labeller", fails)
    with pytest.raises(bug):
        Parser.load(model)


class Nearby(FactorFamily):
    """A family that no package brings."""

    name = "nearby"
    summary = "an arc to the word before, and one to the word after"

    def factors(self, view: Any) -> Any:
        for h in range(2, view.n_words):
            yield [(h, h - 1), (h, h + 1)], [view.sentence.upos[h - 1]]


def test_families_that_are_not_installed_must_be_given(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = toy.configuration().with_("factors", cutoff=1)
    parser = Parser.train(toy.sentences()[:40], config=config, factors=[Nearby, "siblings"])
    assert len(parser.model.maker.table) > 0
    path = tmp_path / "nearby.model"
    parser.save(path)
    with pytest.raises(FactorError, match=r"allow it with --factors tests.*:Nearby"):
        Parser.load(path)
    # On the command line, too, and where the module has another name now.
    (tmp_path / "my_nearby.py").write_text("from tests.models.test_model_file import Nearby\n")
    (tmp_path / "in.conllu").write_text("1\tSee\t_\tVERB\t_\t_\t0\troot\t_\t_\n\n")
    monkeypatch.chdir(tmp_path)
    command = ["in.conllu", "--model", str(path)]
    for name, own, told in (
        (explain, ["--output", "-"], "<html"),
        (tune, ["--prune", "3", "--passes", "1"], "UAS"),
        (parse, [], "\t0\troot"),
    ):
        assert CliRunner().invoke(name, [*command, *own]).exit_code != 0
        done = CliRunner().invoke(name, [*command, *own, "--factors", "my_nearby:Nearby"])
        assert done.exit_code == 0 and told in done.output, done
    with pytest.raises(ModelError, match="no tagger in it"):  # whose families nobody asks for
        load_tagger(path)
    loaded = Parser.load(path, factors=[Nearby])
    for sentence in toy.dev_sentences()[:10]:
        assert loaded.parse(sentence) == parser.parse(sentence)
    # A model must not make Python import whatever it names.
    families = ["shutil:rmtree"]
    strange = rewritten(
        model, lambda a: a["model"]["configuration"]["factors"].update(families=families)
    )
    with pytest.raises(FactorError, match="shutil:rmtree"):
        Parser.load(strange)


def test_a_model_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot be written"):
        toy.parser().save(tmp_path / "no" / "folder" / "toy.model")
    with pytest.raises(OutputError, match="cannot be written"):
        toy.parser().save(tmp_path)
    assert list(tmp_path.iterdir()) == []
