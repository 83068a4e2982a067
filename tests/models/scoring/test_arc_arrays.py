"""Arrays of a parser's network: what is written comes back, what is damaged is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bbparse.models.scoring.arc_network import ARC_FIELDS, ArcNetwork
from bbparse.runtime.archive import read_archive, write_archive
from bbparse.runtime.errors import ModelError
from tests.models.scoring.networks import LABELS, random_network, random_sentence
from tests.models.scoring.test_arc_network import (
    everything,
    network_of_members,
    random_vectors,
    same,
    scores_of,
)

Arrays = dict[str, np.ndarray]


def network_of(trained: bool = True, **options: Any) -> tuple[ArcNetwork, list[Any]]:
    rng = np.random.default_rng(11)
    sentences = [random_sentence(rng, n) for n in (4, 9)]
    return random_network(rng, sentences, trained=trained, **options), sentences


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"kinds": ""},
        {"kinds": "rcrcrcrc", "root": 3},
        {"labels": ()},
        {"embeddings": 12},
        {"embeddings": 12, "root": 3},
    ],
)
def test_files_hold_the_same_network(options: dict[str, Any], tmp_path: Path) -> None:
    network, sentences = network_of(**options)
    paths = tmp_path / "one", tmp_path / "two"
    write_archive(paths[0], "network", network.to_fields())
    again = ArcNetwork.from_fields(read_archive(paths[0], "network", ARC_FIELDS), "one")
    write_archive(paths[1], "network", again.to_fields())
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert (again.labels, again.root) == (network.labels, network.root)
    assert (again.kinds, again.sizes) == (network.kinds, network.sizes)
    outside = random_vectors(np.random.default_rng(1), sentences, network.sizes["embeddings"])
    one, other = (scores_of(each, sentences, outside) for each in (network, again))
    assert all(same(everything(a), everything(b)) for a, b in zip(one, other))


@pytest.mark.parametrize("count", [2, 16])
def test_files_hold_all_members(count: int) -> None:
    rng = np.random.default_rng(count)
    sentences = [random_sentence(rng, n) for n in (4, 9)]
    network = network_of_members(rng, sentences, count, trained=True)
    again = ArcNetwork.from_fields(network.to_fields())
    assert len(again.members) == count and again.members[0] is again
    one, other = (scores_of(each, sentences) for each in (network, again))
    assert all(same(everything(a), everything(b)) for a, b in zip(one, other))
    for name, axis in (("vectors", 1), ("weights", 0)):
        arrays = network.to_fields()
        cut = arrays[f"arcs_{name}"].shape[axis] // count
        arrays[f"arcs_{name}"] = np.delete(arrays[f"arcs_{name}"], slice(cut), axis)
        with pytest.raises(ModelError, match=r"^x\.model: "):
            ArcNetwork.from_fields(arrays, "x.model")


def test_sizes_have_other_names_in_older_files() -> None:
    network, sentences = network_of()
    fields = network.to_fields()
    sizes = {ArcNetwork.FORMER_SIZES.get(name, name): n for name, n in network.sizes.items()}
    assert {"pairs", "shared", "parts", "naming"} < {*sizes}
    again = ArcNetwork.from_fields({**fields, "arcs": {**fields["arcs"], "sizes": sizes}})
    assert again.sizes == network.sizes
    one, other = (scores_of(each, sentences) for each in (network, again))
    assert all(same(everything(a), everything(b)) for a, b in zip(one, other))


def card(**changes: Any) -> dict[str, Any]:
    """The entry of the network in the card, with changes."""
    return {**network_of(root=3)[0].to_fields()["arcs"], **changes}


SIZES = network_of(root=3)[0].sizes


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        *(
            (name, None, f"arcs: 'arcs{name}' is missing")
            for name in ("", "_keys", "_vectors", "_weights")
        ),
        ("", lambda a: {k: v for k, v in a.items() if k != "root"}, "arcs: 'root' is missing"),
        ("", lambda a: card(labels=a["labels"][::-1]), "labels[1] is 'obj' after 'root'"),
        ("", lambda a: card(labels=7), "the entry arcs of the card is damaged"),
        ("", lambda a: card(labels=a["labels"][:3]), "root is 3, expected the number of a label"),
        ("", lambda a: card(root=4), "root is 4, expected the number of a label or -1"),
        ("", lambda a: card(layers="xc"), "layers are 'xc', expected at most 8 of r, c"),
        ("", lambda a: card(sizes={}), "arcs: 'word' is missing"),
        ("", lambda a: card(sizes={**SIZES, "word": -16}), "word is -16, expected a multiple"),
        ("_keys", lambda a: a.astype(np.uint32), "arcs_keys has dtype uint32, expected uint64"),
        ("_keys", lambda a: a[::-1].copy(), "keys are not strictly ascending"),
        ("_vectors", lambda a: a[:, :-1], "vectors have shape"),
        ("_weights", lambda a: a[:-1], "arcs_weights has"),
        ("_weights", lambda a: a.astype(np.float32), "of dtype float32, expected"),
        ("_weights", lambda a: np.full_like(a, 127), "has elements that are not finite"),
    ],
)
def test_damaged_fields_are_refused(name: str, change: Any, message: str) -> None:
    fields = network_of(root=3)[0].to_fields()
    if change is None:
        del fields[f"arcs{name}"]
    else:
        fields[f"arcs{name}"] = change(fields[f"arcs{name}"])
    with pytest.raises(ModelError) as error:
        ArcNetwork.from_fields(fields, "x.model")
    assert message in str(error.value)
    assert str(error.value).startswith("x.model: ") and "\n" not in str(error.value)


def test_scores_that_are_no_numbers_are_said() -> None:
    network, sentences = network_of()
    p = {name: array * np.float32(6e3) for name, array in network.weights.values.items()}
    wild = ArcNetwork(LABELS, "rc", network.sizes, network.keys, network.vectors, p)
    scores = scores_of(wild, sentences)[1]
    arcs = np.array([0, 1], np.int32), np.array([1, 2], np.int32)
    with pytest.raises(ModelError, match="the network's scores overflow: retrain"):
        scores.fields(*arcs, True, True)
