"""SuPar's scores, and SuPar with bbparse as its decoder.

Its parsers take the argmax of each word, and decode only what is no tree then: by Eisner's or Chu
and Liu's algorithm over the arcs, or, if the model was trained with siblings, over marginals or,
with ``mbr=False``, over arcs and siblings. bbparse finds the best tree of all,
siblings included.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from bbparse.adapters.scores import (
    DecodeOptions,
    SentenceScores,
    check_version,
    from_batch,
    label_names,
)  # fmt: skip
from bbparse.adapters.scores import decode as decode_sentence
from bbparse.adapters.switch import TREES, Switch, sentence_of, uninstall
from bbparse.inference.matrix import as_array
from bbparse.parser.validity.rules import Rules
from bbparse.runtime.errors import ProblemError

__all__ = ["TRIED", "install", "scores", "uninstall"]

#: Versions that bbparse was tried with; the main branch of its repository calls itself 1.1.4, too.
TRIED = ("1.1.4",)

#: Models that can be switched over: names of their classes.
MODELS = ("BiaffineDependencyModel", "CRFDependencyModel", "CRF2oDependencyModel")


def scores(
    s_arc: Any, s_rel: Any, mask: Any, vocab: Any, s_sib: Any = None
) -> list[SentenceScores]:
    """Take the output of ``parser.model(words, feats)`` apart.

    Parameters
    ----------
    s_arc : Tensor[b, L, L]
    s_rel : Tensor[b, L, L, R]
    mask : Tensor[b, L]
        True for words; False for the root and padding.
    vocab
        ``parser.REL.vocab``, or the list of its labels. Those in <> are no labels.
    s_sib : Tensor[b, L, L, L], optional
        Of a second-order model: dependent, head, the sibling between them.
    """
    arcs = as_array("s_arc", s_arc, (3,), "(b, L, L): sentence, dependent, head")
    expected = f"bool {arcs.shape[:2]}, False for the root in column 0 and for padding"
    words = as_array("mask", mask, (2,), expected, kinds="b")
    if words.shape != arcs.shape[:2] or words[:, :1].any():
        raise ProblemError(f"mask has shape {words.shape}, expected {expected}")
    lengths = words.sum(axis=1).tolist()
    if any(not row[1 : n + 1].all() for row, n in zip(words, lengths)):
        raise ProblemError(f"mask {words.shape} has gaps, expected padding after the words")
    names = label_names(getattr(vocab, "itos", vocab))
    return from_batch(arcs, lengths, labels=s_rel, names=names, siblings=s_sib)


class _Loader:
    """A loader that notes the sentences of the batch it has given last."""

    def __init__(self, loader: Any, seen: list[Any]) -> None:
        self.loader, self.seen = loader, seen

    def __len__(self) -> int:
        return len(self.loader)

    def __iter__(self) -> Iterator[Any]:
        for batch in self.loader:
            yield _noted(batch, self.seen)


def _noted(batch: Any, seen: list[Any]) -> Any:
    """Return the batch; note its sentences."""
    seen[0] = batch.sentences
    return batch


#: Methods that decode, and how what they take is watched: 1.1.4 has the former, which take the
#: loader, and the main branch after it (bebdd35) the latter, which take a batch.
_METHODS: tuple[tuple[tuple[str, str], Callable[[Any, list[Any]], Any]], ...] = (
    (("_predict", "_evaluate"), _Loader), (("pred_step", "eval_step"), _noted),
)  # fmt: skip


def install(
    parser: Any, *, valid: str | Rules | None = None, k_best: int = 1,
    projective: bool | None = None, joint: bool = False, time_limit: float | None = None,
) -> Switch:  # fmt: skip
    """Make ``parser.predict`` and ``parser.evaluate`` decode with bbparse.

    Trees are the best under the scores of the model, whatever ``mbr`` and ``tree`` are. Each
    sentence of the data has its k best as ``bbparse_trees``, each a `bbparse.ScoredTree`.

    Parameters
    ----------
    parser : supar.Parser
        For dependencies: biaffine, crf or crf2o.
    valid, k_best, joint, time_limit
        See `bbparse.adapters.scores.DecodeOptions`. Rules need tags in the data.
    projective : bool, optional
        By default what SuPar is asked for by ``proj``.

    Returns
    -------
    Switch
        Use it in ``with``, or call its ``uninstall``.

    Raises
    ------
    BBParseError
        If the parser is another one, or an option is impossible.

    Warns
    -----
    UserWarning
        If this version of SuPar was never tried.
    """
    check_version("supar", TRIED)
    model: Any = getattr(parser, "model", None)
    if type(model).__name__ not in MODELS:
        raise ProblemError(f"model is a {type(model).__name__}, expected {', '.join(MODELS)}")
    known = [found for found in _METHODS if all(hasattr(parser, name) for name in found[0])]
    if not known:
        raise ProblemError(
            f"{type(parser).__name__} has no methods"
            f" {' or '.join(' and '.join(names) for names, _ in _METHODS)}: another SuPar?"
        )
    options = DecodeOptions(
        k_best=k_best, valid=valid, joint=joint, time_limit=time_limit
    ).checked()
    outputs: list[Any] = [()]
    seen: list[Any] = [None]

    def decode(s_arc: Any, *others: Any, **named: Any) -> Any:
        """Decode what the model has just given: ``s_arc`` may be marginals by now."""
        if model.training:
            return type(model).decode(model, s_arc, *others, **named)
        raw, *siblings, s_rel = outputs[0]
        mask = others[len(siblings) + 1]
        proj = named.get("proj", others[-1] if len(others) > 3 + len(siblings) else False)
        wanted = options._replace(projective=proj if projective is None else projective)
        heads = mask.new_zeros(mask.shape).long()
        labels = heads.clone()
        batch = seen[0] if seen[0] is not None else [None] * len(mask)
        found = scores(raw, s_rel, mask, parser.REL.vocab, *siblings)
        for i, (one, sentence) in enumerate(zip(found, batch)):
            words = None if wanted.valid is None else sentence_of(f"{sentence}\n")
            trees = decode_sentence(one, words, wanted)
            if not trees:
                raise ProblemError(f"no tree was found for sentence {i} of a batch in time")
            if sentence is not None:
                object.__setattr__(sentence, TREES, trees)
            n = one.n_words
            heads[i, 1 : n + 1] = heads.new_tensor(trees[0].heads)
            labels[i, 1 : n + 1] = heads.new_tensor([*map(one.names.index, trees[0].labels)])
        return heads, labels

    switch = Switch(parser)
    handle = model.register_forward_hook(lambda *step: outputs.__setitem__(0, step[-1]))
    switch.callback(handle.remove)
    switch.replace(model, "decode", decode)
    names, watched = known[0]
    for name in names:
        switch.replace(parser, name, _watching(getattr(parser, name), watched, seen))
    return switch


def _watching(
    method: Any, watched: Callable[[Any, list[Any]], Any], seen: list[Any]
) -> Callable[[Any], Any]:
    """Return the method, with the sentences noted that it decodes."""

    def watch(given: Any) -> Any:
        try:
            return method(watched(given, seen))
        finally:
            seen[0] = None

    return watch
