"""Commands that solve by HiGHS write to the standard output what they write, and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bbparse.problem import Problem
from bbparse.treebank import read_conllu
from tests import toy
from tests.cli.conftest import succeed

TOML = """
[model]
projective = false
solver = "price-and-cut"

[pruner]
k = 10
epochs = 1
folds = 1

[pruner.templates]
bits = 12
arc = ["h.upos m.upos @dirdist"]

[templates]
bits = 12
arc = ["h.upos m.upos @dirdist"]
grandchild = ["g.upos h.upos m.upos @gdir"]

[learning]
method = "perceptron"
epochs = 1

[labels]
epochs = 1

[labels.templates]
bits = 10
arc = ["h.upos m.upos @dir"]
"""


def output_of(*arguments: Any) -> str:
    """What a command in a process of its own writes to its standard output, HiGHS included."""
    command = [sys.executable, "-m", "bbparse", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("method", ["ilp", "price-and-cut"])
def test_json_alone(method: str, tmp_path: Path) -> None:
    scores = np.random.default_rng(81).normal(size=(6, 6))
    p = Problem.from_arc_scores(scores, projective=False).with_factors([([(2, 1), (2, 5)], 1.5)])
    p.save(tmp_path / "p.npz")
    found = json.loads(output_of("solve", tmp_path / "p.npz", "--json", "--method", method))
    assert found["status"] == "optimal"


def test_trees_alone(tmp_path: Path) -> None:
    config, model = tmp_path / "toy.toml", tmp_path / "toy.model"
    config.write_text(TOML, encoding="utf-8")
    succeed("train", toy.DEV, "--config", config, "--model", model, "--no-text")
    lines = output_of("parse", toy.DEV, "--model", model, "--valid", "none").splitlines()
    trees = list(read_conllu(toy.DEV))
    words = [line for line in lines if line.count("\t") == 9]
    assert sum(line[:1].isdecimal() for line in words) >= sum(tree.n_words for tree in trees)
    assert all(line.startswith("#") or not line for line in lines if line.count("\t") != 9)
