"""`tune_encoder`: let the layers of an encoder learn from trees, with PyTorch.

A linear layer for each kind of tag, and biaffine ones for heads and labels (Dozat & Manning 2017),
read the mean of the encoder's layers. They and the encoder's layers learn together, and then only
the latter are kept; vectors of pieces and of positions stay as they are. The networks that parse
learn from the tuned states afterwards, as from those of any encoder.
"""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.neural.embeddings.bert import check_sizes
from bbparse.neural.embeddings.encoder import composed
from bbparse.neural.embeddings.hugging_face import Source, read_bert, read_folder, write_safetensors
from bbparse.neural.embeddings.pieces import Pieces
from bbparse.runtime.arrays import Float32s
from bbparse.runtime.errors import EmbeddingsError
from bbparse.runtime.options import Range, check_number, check_options
from bbparse.runtime.output import new_folder, open_binary_output, open_output
from bbparse.runtime.progress import watched
from bbparse.treebank import Sentence

#: Largest step of the encoder, by AdamW; smaller encoders need larger ones.
RATE = 4e-5
_HEAD_RATE = 2e-3  # of the layers that are thrown away
_WARM = 0.1  # share of the steps that grow
_BATCH = 800  # pieces, with padding
_MOST = 510  # pieces of a sentence
_CLASSES = 2_000  # the most frequent tags of each kind
_MASKED, _DROPPED, _DROPPED_STATES = 0.1, 0.1, 0.2
_ARC, _LABEL = 400, 128  # dimensions
_IGNORED = -100
_PARTS = (
    "attention.self.query",
    "attention.self.key",
    "attention.self.value",
    "attention.output.dense",
    "attention.output.LayerNorm",
    "intermediate.dense",
    "output.dense",
    "output.LayerNorm",
)


def tune_encoder(
    folder: str | os.PathLike[str],
    sentences: Sequence[Sentence],
    output: str | os.PathLike[str],
    *,
    layers: int | tuple[int, int] | None = None,
    passes: float = 3.0,
    rate: float = RATE,
    seed: int = 1,
) -> None:
    """Tune an encoder to the trees and tags of some sentences, and write its folder.

    Parameters
    ----------
    folder : path
        Folder of an encoder like BERT, XLM-R or MPNet, in the format of Hugging Face.
    sentences : sequence of Sentence
        Those without trees or with more than 510 pieces are left out. Tags that are ``_`` are not
        learned.
    output : path
        Folder to make; if it exists, it is empty. Layers above the last one that is used are left
        out.
    layers : int or (int, int), optional
        Layers whose mean is the state of a word, as in `fit_encoder`.
    passes : float, optional
        How often each sentence is read.
    rate : float, optional
        Largest step of a weight; it grows in the first tenth, and then falls to 0.
    seed : int, optional
        Of the order of the sentences and of all that is random. The result also depends on
        PyTorch's version and its number of threads, and on the processor.

    Raises
    ------
    EmbeddingsError
        If an argument is out of range, the encoder cannot be read, PyTorch is missing, there is
        nothing to learn, or the rate is so large that weights are not finite any more.
    OutputError
        If the folder cannot be written, or is not empty. Nothing is left of it then.
    """
    check_number("passes", passes, Range(0, whole=False, maximum=1000), EmbeddingsError)
    check_number("rate", rate, Range(0, whole=False), EmbeddingsError)
    check_options({"seed": seed}, EmbeddingsError)
    torch = _torch()
    read_bert(Path(folder), layers)  # checks all sizes
    source = read_folder(Path(folder), layers)
    rows, sizes = _rows(sentences, source)
    if not rows:
        raise EmbeddingsError(
            f"encoder {folder}: no sentence to learn from: {len(sentences)} have no tree, or more"
            " pieces than it reads"
        )
    with new_folder(output) as unfinished:
        torch.manual_seed(seed % 2**63)
        plan = passes, rate
        learned = _learned(torch, source, rows, sizes, plan, np.random.default_rng(seed))
        if not all(np.isfinite(array).all() for array in learned.values()):
            raise EmbeddingsError(
                f"encoder {folder}: weights are not finite any more: rate is {rate}"
            )
        _write(Path(folder), unfinished, source, learned)


def _torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise EmbeddingsError(
            f"{error}: tuning an encoder needs PyTorch: pip install '.[torch]' in the checkout"
        ) from None
    return torch


def _learned(
    torch: Any,
    source: Source,
    rows: Sequence[_Row],
    sizes: Sequence[int],
    plan: tuple[float, float],
    random: np.random.Generator,
) -> dict[str, Float32s]:
    """Return the weights that have learned, by their names in BERT, in passes with a rate."""
    passes, rate = plan
    device = "cuda" if torch.cuda.is_available() else "cpu"
    encoder, head = _Encoder(torch, source, device), _Head(torch, source, sizes, device)
    groups = [list(part.learned.values()) for part in (encoder, head)]
    optimizer = torch.optim.AdamW(
        [{"params": groups[0]}, {"params": groups[1], "weight_decay": 0.0}], betas=(0.9, 0.98)
    )
    steps = math.ceil(len(_batches(rows, random)) * passes)
    half = torch.autocast(device, torch.bfloat16, enabled=_multiplies_halves(torch, device))
    batches = _endless(rows, random)
    for step in watched(range(steps), "tuning", " steps"):
        left = 1.0 - step / steps
        optimizer.param_groups[0]["lr"] = rate * left * min(1.0, (step + 1) / (_WARM * steps))
        optimizer.param_groups[1]["lr"] = _HEAD_RATE * left
        batch = next(batches)
        ids, lengths, means = _tensors(torch, batch, source.pieces, random, device)
        with half:
            states = encoder(ids, lengths)
        loss = head.loss(means @ states.float(), batch)
        optimizer.zero_grad()
        loss.backward()
        for group, most in zip(groups, (1.0, 5.0)):
            torch.nn.utils.clip_grad_norm_(group, most)
        optimizer.step()
    return {name: tensor.detach().cpu().numpy() for name, tensor in encoder.learned.items()}


def _multiplies_halves(torch: Any, device: str) -> bool:
    """Return whether products of 16 bits are faster than those of 32."""
    if device != "cpu":
        return True
    known: dict[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()  # not in old versions
    return bool(known.get("avx512_bf16") or known.get("amx_bf16"))


def _write(folder: Path, output: Path, source: Source, learned: dict[str, Float32s]) -> None:
    """Write the folder of an encoder without layers that are not used."""
    config = json.loads((folder / "config.json").read_text("utf-8"))
    config["num_hidden_layers"] = source.note["layers"]
    with open_output(output / "config.json") as file:
        file.write(json.dumps(config, indent=2) + "\n")
    with open_binary_output(output / "tokenizer.json") as copy:
        copy.write((folder / "tokenizer.json").read_bytes())
    names = {source.name_of(name): name for name in learned}
    layer = source.name_of("encoder.layer.")
    arrays = {
        name: learned[names[name]] if name in names else array
        for name, array in source.arrays.items()
        if name in names or not name.startswith(layer)
    }
    write_safetensors(output / "model.safetensors", arrays)


class _Row(NamedTuple):
    """A sentence: ids of pieces, the word of each, heads, and a class of each kind of each word."""

    ids: list[int]
    words: NDArray[np.int64]
    heads: NDArray[np.int64]
    classes: NDArray[np.int64]


def _rows(sentences: Sequence[Sentence], source: Source) -> tuple[list[_Row], list[int]]:
    """Return the sentences that are learned, and the number of classes of each kind."""
    columns = ("upos", "xpos", "feats", "deprels")
    classes: list[dict[str, int]] = []
    for column in columns:
        counts = Counter(value for sentence in sentences for value in getattr(sentence, column))
        counts.pop("_", None)
        classes.append({value: i for i, (value, _) in enumerate(counts.most_common(_CLASSES))})
    rows, most = [], min(_MOST, len(source.positions) - 2)
    for sentence in sentences:
        of_words = [source.pieces.of_word(word) for word in composed(sentence)]
        ids = [i for word in of_words for i in word]
        if not 0 < len(ids) <= most or min(sentence.heads) < 0:
            continue
        known = [
            [of.get(value, _IGNORED) for value in getattr(sentence, column)]
            for column, of in zip(columns, classes)
        ]
        words = np.repeat(np.arange(len(of_words)), [len(word) for word in of_words])
        heads = np.array(sentence.heads, np.int64)
        rows.append(_Row(ids, words, heads, np.array(known, np.int64)))
    return rows, [max(1, len(of)) for of in classes]


def _batches(rows: Sequence[_Row], random: np.random.Generator) -> list[list[_Row]]:
    """Return batches of sentences of about equal length, in random order."""
    keys = [len(row.ids) + 4.0 * random.random() for row in rows]
    batches: list[list[_Row]] = [[]]
    for i in np.argsort(keys, kind="stable"):
        if batches[-1] and (len(batches[-1]) + 1) * (len(rows[i].ids) + 2) > _BATCH:
            batches.append([])
        batches[-1].append(rows[i])
    random.shuffle(batches)
    return batches


def _endless(rows: Sequence[_Row], random: np.random.Generator) -> Iterator[list[_Row]]:
    while True:
        yield from _batches(rows, random)


def _tensors(
    torch: Any, batch: Sequence[_Row], pieces: Pieces, random: np.random.Generator, device: str
) -> list[Any]:
    """Return ids and lengths of a batch, some words masked, and means of pieces for each word."""
    lengths = np.array([len(row.ids) + 2 for row in batch])
    ids = np.full((len(batch), lengths.max()), pieces.end)
    means = np.zeros((len(batch), max(len(row.heads) for row in batch), lengths.max()), np.float32)
    for b, row in enumerate(batch):
        inner = np.array(row.ids)
        if pieces.mask is not None:
            inner[(random.random(len(row.heads)) < _MASKED)[row.words]] = pieces.mask
        ids[b, : lengths[b]] = [pieces.start, *inner, pieces.end]
        means[b, row.words, np.arange(1, len(row.ids) + 1)] = 1.0
    means /= np.maximum(1.0, means.sum(axis=2, keepdims=True))
    return [torch.from_numpy(array).to(device) for array in (ids, lengths, means)]


class _Encoder:
    """The encoder of `bert.Bert` in floats; what it learns, by the names of BERT."""

    def __init__(self, torch: Any, source: Source, device: str) -> None:
        self._torch, self._note = torch, source.note
        self._layers = [f"encoder.layer.{i}" for i in range(source.note["layers"])]

        def tensor(array: Float32s) -> Any:
            return torch.tensor(array, device=device)

        self.learned = {
            name: tensor(source.weights(name)).requires_grad_()
            for layer in self._layers
            for part in _PARTS
            for name in (f"{layer}.{part}.weight", f"{layer}.{part}.bias")
        }
        self._vectors = tensor(source.weights("embeddings.word_embeddings.weight"))
        self._positions = tensor(source.positions)
        self._norm = [
            tensor(source.weights(f"embeddings.LayerNorm.{name}")) for name in ("weight", "bias")
        ]
        self._biases = None if source.relative is None else tensor(source.relative)

    def __call__(self, ids: Any, lengths: Any) -> Any:
        """Return the states of pieces, float[rows, pieces, width]."""
        torch, note, learned = self._torch, self._note, self.learned
        F = torch.nn.functional
        count, width = ids.shape[1], note["width"]
        places = torch.arange(count, device=ids.device)
        bias = torch.zeros((len(ids), 1, 1, count), device=ids.device)
        bias.masked_fill_((places >= lengths[:, None])[:, None, None], -1e4)
        if self._biases is not None:
            far = (self._biases.shape[1] - 1) // 2
            distances = (places[None] - places[:, None]).clamp(-far, far) + far
            bias = bias + self._biases[:, distances]

        def normalise(x: Any, module: str) -> Any:
            gain, shift = learned[f"{module}.weight"], learned[f"{module}.bias"]
            return F.layer_norm(x, (width,), gain, shift, note["small"])

        def linear(x: Any, module: str) -> Any:
            return F.linear(x, learned[f"{module}.weight"], learned[f"{module}.bias"])

        x = F.embedding(ids, self._vectors) + self._positions[:count]
        x = F.dropout(F.layer_norm(x, (width,), *self._norm, note["small"]), _DROPPED)
        lowest, total = check_sizes(note), 0.0
        for i, layer in enumerate(self._layers):
            split = [
                linear(x, f"{layer}.attention.self.{name}").unflatten(2, (note["heads"], -1))
                for name in ("query", "key", "value")
            ]
            mixed = F.scaled_dot_product_attention(
                *(part.transpose(1, 2) for part in split), bias.to(split[0].dtype), _DROPPED
            )
            mixed = linear(mixed.transpose(1, 2).flatten(2), f"{layer}.attention.output.dense")
            x = normalise(x + F.dropout(mixed, _DROPPED), f"{layer}.attention.output.LayerNorm")
            inner = F.gelu(linear(x, f"{layer}.intermediate.dense"))
            inner = F.dropout(linear(inner, f"{layer}.output.dense"), _DROPPED)
            x = normalise(x + inner, f"{layer}.output.LayerNorm")
            if i + 1 >= lowest:
                total = total + x
        return total / (note["layers"] - lowest + 1)


class _Head:
    """The layers that are thrown away: tags, heads and labels of words from their states."""

    def __init__(self, torch: Any, source: Source, sizes: Sequence[int], device: str) -> None:
        self._torch, self._device = torch, device
        width = source.note["width"]

        def start(*shape: int, scale: float = 0.0) -> Any:
            return (scale * torch.randn(*shape)).to(device).requires_grad_()

        def linear(name: str, size: int) -> dict[str, Any]:
            weight = start(size, width, scale=1.0 / math.sqrt(width))
            return {name: weight, f"{name} bias": start(size)}

        *tags, labels = sizes
        self._tags = [f"tag {i}" for i in range(len(tags))]
        names = zip(["child", "parent", "label", "label of"], [_ARC, _ARC, _LABEL, _LABEL])
        self.learned = {"root": start(width)}
        for name, size in [*zip(self._tags, tags), *names]:
            self.learned |= linear(name, size)
        self.learned["arcs"] = start(_ARC, _ARC, scale=1.0 / _ARC)
        self.learned["arcs bias"] = start(_ARC)
        self.learned["labels"] = start(labels, _LABEL + 1, _LABEL + 1, scale=1.0 / _LABEL)

    def _linear(self, x: Any, name: str) -> Any:
        return x @ self.learned[name].T + self.learned[f"{name} bias"]

    def loss(self, states: Any, batch: Sequence[_Row]) -> Any:
        """Return the cross entropy of tags, heads and labels, given states[rows, words, width]."""
        torch, F = self._torch, self._torch.nn.functional
        count = states.shape[1]
        heads = np.full((len(batch), count), _IGNORED)
        classes = np.full((len(self._tags) + 1, len(batch), count), _IGNORED)
        for b, row in enumerate(batch):
            heads[b, : len(row.heads)] = row.heads
            classes[:, b, : len(row.heads)] = row.classes
        of_heads, of_classes = (torch.from_numpy(a).to(self._device) for a in (heads, classes))
        states = F.layer_norm(states, states.shape[2:])
        x = F.dropout(states, _DROPPED_STATES)
        root = self.learned["root"].expand(len(batch), 1, -1)
        above = F.dropout(torch.cat([root, states], 1), _DROPPED_STATES)

        def entropy(scores: Any, targets: Any) -> Any:
            some = (targets != _IGNORED).sum().clamp(min=1)
            sums = F.cross_entropy(
                scores.flatten(0, 1), targets.flatten(), ignore_index=_IGNORED, reduction="sum"
            )
            return sums / some

        parents = F.gelu(self._linear(above, "parent"))
        children = F.gelu(self._linear(x, "child"))
        scores = children @ self.learned["arcs"] @ parents.transpose(1, 2)
        scores = scores + (parents @ self.learned["arcs bias"])[:, None]
        places = torch.arange(count + 1, device=self._device)
        lengths = torch.tensor([len(row.heads) for row in batch], device=self._device)
        scores = scores.masked_fill((places > lengths[:, None])[:, None], -1e4)
        scores = scores.masked_fill(places[None] == places[1:, None], -1e4)
        loss = entropy(scores, of_heads)
        for name, targets in zip(self._tags, of_classes):
            loss = loss + 0.5 * entropy(self._linear(x, name), targets)
        chosen = of_heads.clamp(min=0)[..., None].expand(-1, -1, _LABEL)
        below = F.pad(F.gelu(self._linear(x, "label")), (0, 1), value=1.0)
        over = F.gelu(self._linear(above, "label of")).gather(1, chosen)
        over = F.pad(over, (0, 1), value=1.0)
        return loss + entropy(
            torch.einsum("bmi,lij,bmj->bml", below, self.learned["labels"], over), of_classes[-1]
        )
