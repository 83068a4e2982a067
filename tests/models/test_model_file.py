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
from bbparse.runtime.archive import FORMAT, write_archive
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


def test_a_loaded_model_finds_the_same_trees(model: Path) -> None:
    parser, loaded = toy.parser(), Parser.load(model)
    assert loaded.config.to_table() == parser.config.to_table()
    # As text: a nan does not equal itself.
    assert str(sorted(loaded.notes.items())) == str(sorted(parser.notes.items()))
    assert [f.name for f in loaded.maker.families] == ["siblings", "grandchildren"]
    for sentence in toy.dev_sentences():
        for k in (1, 3):
            assert loaded.parse(sentence, k_best=k) == parser.parse(sentence, k_best=k)
        assert loaded.parse(sentence, prune=2) == parser.parse(sentence, prune=2)


def test_saving_again_gives_the_same_bytes(model: Path, tmp_path: Path) -> None:
    toy.parser().save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == model.read_bytes()
    Parser.load(model).save(tmp_path / "loaded")
    assert (tmp_path / "loaded").read_bytes() == model.read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["again", "loaded"]


@pytest.mark.parametrize("make", [toy.parser, toy.network_parser])
def test_a_flipped_bit_is_noticed_or_does_no_harm(
    tmp_path: Path, make: Callable[[], Parser]
) -> None:
    bad = tmp_path / "bad.model"
    make().save(bad)
    whole, sentence = bad.read_bytes(), toy.dev_sentences()[5]
    rng = np.random.default_rng(151)
    refused = 0
    for place in rng.integers(0, len(whole), 35):
        data = bytearray(whole)
        data[place] ^= 1 << int(rng.integers(8))
        bad.write_bytes(bytes(data))
        try:
            loaded = Parser.load(bad)
        except ModelError as error:
            refused += 1
            assert str(bad) in str(error)
        else:
            assert loaded.parse(sentence) == make().parse(sentence)
    assert refused > 22


def test_what_is_no_model_is_refused(model: Path, tmp_path: Path) -> None:
    short = tmp_path / "short.model"
    short.write_bytes(model.read_bytes()[:-1])
    problem = tmp_path / "problem.npz"
    Problem(1, [0], [1], [1.0]).save(problem)
    newer = tmp_path / "newer.model"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bbparse.runtime.archive.FORMAT", FORMAT + 1)
        write_archive(newer, KIND, fields_of(model))
    for path, message in (
        (tmp_path / "none.model", r"none\.model: no such file"),
        (short, r"short\.model: not a complete \.npz file"),
        (problem, r"holds a 'bbparse\.Problem', expected a 'bbparse\.Model"),
        (newer, rf"its format is {FORMAT + 1}, expected {FORMAT}: make the file anew"),
    ):
        with pytest.raises(ModelError, match=message):
            Parser.load(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a: a.pop("pruner_value"), "pruner_value' is missing"),
        (lambda a: a.pop("backbone_gap"), "field backbone_gap is missing"),
        (lambda a: a.update(extra=np.zeros(1)), "field 'extra' is unknown"),
        (lambda a: a.update(backbone_value=a["backbone_value"][1:]), "backbone_value has .* as in"),
        (
            lambda a: a.update(backbone_gap=np.append(np.uint16(20_000), a["backbone_gap"][1:])),
            "backbone_gap goes up to weight .*, expected less than 32768",
        ),
        (
            lambda a: a.update(backbone_value=a["backbone_value"] + (np.int64(1) << 40)),
            "backbone_value is .*, expected at most 2147483647",
        ),
        (lambda a: a["labels"].pop("names"), "labels: 'names' is missing"),
        (lambda a: a["labels"]["names"].reverse(), r"labels\[1\] is"),
        (lambda a: a["labels"].update(root=99), "root is 99"),
        (lambda a: a.update(label_step=1 << 20), "label_step is .* expected 1"),
        (lambda a: a.update(factor_keys=a["factor_keys"][::-1].copy()), "strictly ascending keys"),
        (lambda a: a["factor_weights"].fill(np.nan), "weights .* expected finite numbers"),
        (lambda a: a.update(model=[]), "field model is no dict"),
        (lambda a: a.pop("model"), "field model is missing"),
        (lambda a: a["model"].pop("quantum"), "model: 'quantum' is missing"),
        (lambda a: a["model"].update(quantum="small"), "the entry model of the card is damaged"),
        (lambda a: a["model"].update(quantum=-1.0), r"quantum is -1\.0, expected"),
        (lambda a: a["model"].update(quantum=float("nan")), "quantum is nan, expected"),
        (lambda a: a["model"]["configuration"]["model"].update(depth=3), "unknown key 'depth'"),
        (lambda a: a["model"]["configuration"].pop("templates"), "is missing"),
        (lambda a: a["model"].update(notes=7), "the entry model of the card is damaged"),
    ],
)
def test_damaged_fields_are_named(
    model: Path, change: Callable[[Fields], Any], message: str
) -> None:
    with pytest.raises(ModelError, match=message) as caught:
        Parser.load(rewritten(model, change))
    assert "changed.model" in str(caught.value)


class Nearby(FactorFamily):
    """A family that no package brings."""

    name = "nearby"
    summary = "an arc to the word before, and one to the word after"

    def factors(self, view: Any) -> Any:
        for h in range(2, view.n_words):
            yield [(h, h - 1), (h, h + 1)], [view.sentence.upos[h - 1]]




@pytest.fixture(scope="module")
def network_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("network") / "toy.model"
    toy.network_parser().save(path)
    return path


def test_a_model_with_a_network_finds_the_same_trees(network_model: Path, tmp_path: Path) -> None:
    parser, loaded = toy.network_parser(), Parser.load(network_model)
    assert loaded.config == parser.config
    network = loaded.maker.network
    assert network is loaded.labeller and network is not None
    assert loaded.maker.scorer is None and loaded.maker.pruner is None
    for sentence in toy.dev_sentences():
        for k in (1, 3):
            assert loaded.parse(sentence, k_best=k) == parser.parse(sentence, k_best=k)
        assert loaded.parse(sentence, prune=2) == parser.parse(sentence, prune=2)
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == network_model.read_bytes()
    assert not any(
        name.startswith(("backbone_", "pruner_", "label_")) for name in fields_of(network_model)
    )


def test_families_that_are_not_installed_must_be_given(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = toy.configuration().with_("factors", cutoff=1)
    parser = Parser.train(toy.sentences()[:40], config=config, factors=[Nearby, "siblings"])
    assert len(parser.maker.table) > 0
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
