"""Stanza's scores, and Stanza with bbparse as its decoder.

Its graph-based parser gives log-probabilities of heads and labels, for batches sorted by length.
Its own decoder finds the best arborescence, takes the best label of each arc, and repairs words
that have two subjects or objects in at most five greedy rounds. bbparse finds the best tree of all
that keep all rules of UD.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bbparse.adapters.scores import (
    DecodeOptions,
    SentenceScores,
    check_version,
    decode,
    from_batch,
    label_names,
)  # fmt: skip
from bbparse.adapters.switch import TREES, Switch, sentence_of, uninstall
from bbparse.inference.matrix import as_array, as_lengths
from bbparse.parser.validity.rules import Rules
from bbparse.runtime.errors import ProblemError
from bbparse.runtime.options import check_type

__all__ = ["TRIED", "install", "scores", "uninstall"]

#: Versions that bbparse was tried with.
TRIED = ("1.14.0", "1.15.0")


def scores(preds: Sequence[Any], sentlens: Sequence[int], vocab: Any) -> list[SentenceScores]:
    """Take the predictions of ``GraphParser.forward`` in evaluation mode apart.

    Parameters
    ----------
    preds : (float[b, L, L], int[b, L, L], float[b, L, L, R])
        Log-probabilities of heads, best labels (not used), log-probabilities of labels.
    sentlens : sequence of b int
        Number of words and root of each sentence, in the order of the batch.
    vocab
        ``trainer.vocab["deprel"]``; its first units are no labels.
    """
    check_type("preds", preds, (list, tuple), "a list of arrays", ProblemError)
    if len(preds) < 3:
        raise ProblemError(
            f"preds has {len(preds)} arrays, expected heads, best labels and log-probabilities of"
            " labels [sentence, dependent, head, label]: a version of Stanza before 1.14?"
        )
    labels = as_array("preds[2]", preds[2], (4,), "[sentence, dependent, head, label]")
    count = labels.shape[-1]
    units = vocab.unmap(range(len(vocab))) if hasattr(vocab, "unmap") else vocab
    names = label_names(units)
    first = len(names) - count
    if first < 0 or any(names[:first]):
        raise ProblemError(
            f"vocab has {len(names)} units, {sum(map(bool, names))} of them labels, and preds[2]"
            f" scores of {count}, expected as many: the vocabulary of another model?"
        )
    numbers = [n - 1 for n in as_lengths("sentlens", sentlens)]
    return from_batch(preds[0], numbers, labels=labels, names=names[first:])


@dataclass
class _Pending:
    """The scores of a sentence, decoded when Stanza has put the sentences in order."""

    scores: SentenceScores
    sentences: Iterator[Any]
    options: DecodeOptions

    def __iter__(self) -> Iterator[list[Any]]:
        sentence = next(self.sentences)
        words = sentence_of(f"{sentence:C}\n\n") if self.options.valid is not None else None
        trees = decode(self.scores, words, self.options)
        if not trees:
            raise ProblemError(f"no tree was found for {sentence.text!r:.60} in time")
        setattr(sentence, TREES, trees)
        yield from map(list, zip(trees[0].heads, trees[0].labels))


def install(
    nlp: Any, *, valid: str | Rules | None = "ud", k_best: int = 1, projective: bool = False,
    joint: bool = True, time_limit: float | None = None,
) -> Switch:  # fmt: skip
    """Make a pipeline of Stanza decode with bbparse.

    Heads and relations are those of the best tree. ``sentence.bbparse_trees`` has the k best, each
    a `bbparse.ScoredTree` with its score and proof.

    Parameters
    ----------
    nlp : stanza.Pipeline
        With a graph-based ``depparse``.
    valid, k_best, projective, joint, time_limit
        See `bbparse.adapters.scores.DecodeOptions`. Stanza's own trees may cross.

    Returns
    -------
    Switch
        Use it in ``with``, or call its ``uninstall``.

    Raises
    ------
    BBParseError
        If the pipeline has no such parser, or an option is impossible.

    Warns
    -----
    UserWarning
        If this version of Stanza was never tried.
    """
    check_version("stanza", TRIED)
    processor: Any = getattr(nlp, "processors", {}).get("depparse")
    trainer: Any = getattr(processor, "trainer", None)
    model: Any = getattr(trainer, "model", None)
    kind = type(model).__name__
    if kind not in ("GraphParser", "EnsembleGraphParser") or trainer.args.get("reversed"):
        raise ProblemError(
            f"depparse of the pipeline is {kind}, expected GraphParser or EnsembleGraphParser that"
            " reads from left to right"
        )
    options = DecodeOptions(
        k_best=k_best, valid=valid, projective=projective, joint=joint, time_limit=time_limit
    ).checked()
    vocab, sentences = trainer.vocab["deprel"], [iter(())]

    def predict(*inputs: Any, resolve_head_constraints: bool = False) -> list[_Pending]:
        _, preds = model(*inputs)
        found = scores(preds, inputs[12], vocab)
        return [_Pending(one, sentences[0], options) for one in found]

    process = processor.process

    def process_document(document: Any) -> Any:
        sentences[0] = iter(document.sentences)
        return process(document)

    switch = Switch(nlp)
    switch.replace(model, "predict", predict)
    switch.replace(processor, "process", process_document)
    return switch
