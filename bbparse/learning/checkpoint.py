"""Checkpoints: a training run that was interrupted goes on after its last whole epoch."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path

import numpy as np

from bbparse.configuration import Configuration
from bbparse.errors import ModelError
from bbparse.learning.learning import Learning
from bbparse.model.file import load_model, save_model
from bbparse.model.model import Model
from bbparse.storage.archive import INTS, REALS, TEXT, Rule, read_archive, write_archive
from bbparse.treebank import Sentence

KIND = "bbparse.Checkpoint"
VERSION = 1

_RULES: dict[str, Rule] = {
    "identity": (TEXT, 0, None),
    "epoch": (INTS, 0, None),
    "best_uas": (REALS, 0, None),
}
_STATE = (("weights", INTS, 1), ("sums", INTS, 1), ("squares", REALS, 1), ("clock", INTS, 0))


def find_checkpoints(path: str | os.PathLike[str]) -> list[Path]:
    """The checkpoints of a run and of its parts, sorted."""
    whole = Path(path)
    beside = whole.parent.glob("*")
    return sorted(p for p in beside if p.name == whole.name or p.name.startswith(f"{whole.name}."))


class Checkpoint:
    """The state of a training run beside the model it will write.

    Parameters
    ----------
    path : path
        Of the checkpoint; the best model so far lies beside it under ``.best``.
    config, sentences, dev
        What the run is: a checkpoint of another one is not used.
    longer : bool
        Whether a run with more epochs may go on from a shorter one's.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        config: Configuration,
        sentences: Sequence[Sentence],
        dev: Sequence[Sentence] = (),
        longer: bool = True,
    ) -> None:
        self.path = Path(path)
        self.best_path = self.path.with_name(self.path.name + ".best")
        table = config.to_table()
        if longer:
            table["learning"].pop("epochs")
        digest = blake2b(json.dumps(table, sort_keys=True).encode(), digest_size=16)
        for treebank in (sentences, dev):
            digest.update(b"%d\n" % len(treebank))
            for sentence in treebank:
                digest.update("\n".join(sentence.lines).encode())
        self.identity = digest.hexdigest()

    def save(self, trainer: Learning, epoch: int, best_uas: float, best: Model | None) -> None:
        """Write the state after an epoch."""
        arrays = {
            "identity": np.array(self.identity),
            "epoch": np.array(epoch, np.int64),
            "best_uas": np.array(best_uas),
        }
        for name, learner in trainer.learners().items():
            arrays.update({f"{name}_{field}": a for field, a in learner.state().items()})
        if best is not None:
            save_model(best, self.best_path)
        write_archive(self.path, KIND, VERSION, arrays, compress=False)

    def load(self, trainer: Learning) -> tuple[int, float, Model | None] | None:
        """Put the trainer where an earlier run was: next epoch, best figure, best model.

        None where there is no checkpoint, or one of another run.
        """
        if not self.path.exists():
            return None
        learners = trainer.learners()
        rules = _RULES | {
            f"{name}_{field}": (kinds, ndim, None)
            for name in learners
            for field, kinds, ndim in _STATE
        }
        try:
            arrays = read_archive(self.path, KIND, VERSION, rules, error=ModelError)
            best = None
            if str(arrays["identity"].item()) == self.identity:
                best = load_model(self.best_path, trainer.families)
        except ModelError as error:
            raise ModelError(f"{error}; remove it, and training begins anew") from None
        if str(arrays["identity"].item()) != self.identity:
            return None
        for name, learner in learners.items():
            state = {f: arrays[f"{name}_{f}"] for f in ("weights", "sums", "squares", "clock")}
            for field, array in learner.state().items():
                if state[field].shape != array.shape:
                    raise ModelError(
                        f"{self.path}: {name}_{field} has shape {state[field].shape},"
                        f" expected {array.shape}; remove it, and training begins anew"
                    )
            learner.restore(state)
        trainer.restored()
        return int(arrays["epoch"]) + 1, float(arrays["best_uas"]), best

    def remove(self) -> None:
        """Forget the run: its model is written."""
        self.path.unlink(missing_ok=True)
        self.best_path.unlink(missing_ok=True)
