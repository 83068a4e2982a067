"""Small networks and taggers in place of large ones, and two parts of a treebank in place of four.

Training takes most of the time of the documentation's pages. `tests/test_docs.py` puts this folder
on the path of their processes, and Python imports the module when it starts.
"""

from __future__ import annotations

import importlib
from dataclasses import replace
from functools import partial
from pathlib import Path

from bbparse.models.configuration import Configuration
from tests import toy

_load = Configuration.load


def _small(name: str | Path) -> Configuration:
    config = _load(name).with_("factors", folds=2, fold_epochs=4)
    sizes = dict.fromkeys(
        ("word", "width", "biaffine_dim", "arc_mlp_dim", "part_dim", "label_dim"), 16
    )
    return config.with_(
        "network", epochs=min(config.network.epochs, 12), layers="r", batch=60, rate=0.01, **sizes
    )


Configuration.load = _small
for module in ("text.tagger_training", "apps.cli.train"):
    importlib.import_module(f"bbparse.{module}").LabelSettings = partial(replace, toy.NETWORK)
