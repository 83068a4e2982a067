"""Train a small biaffine parser on a CoNLL-U treebank, with losses of trees or of single heads.

    python examples/biaffine.py TRAIN.conllu DEV.conllu --loss heads --loss heads+hinge

Losses share all else: the network (Dozat & Manning 2017, small), its first weights, the order of
sentences, and decoding to the best tree. ``heads`` is head selection, a softmax for each word.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor, nn

from bbparse import Sentence, read_conllu
from bbparse.torch import TreeLayer
from bbparse.treebank import is_projective


class Vocabulary:
    """Numbers of words that occur twice or more, and of tags; 0 is padding, 1 the unknown."""

    def __init__(self, sentences: list[Sentence]) -> None:
        words = Counter(form.lower() for s in sentences for form in s.forms)
        self.words = {w: i for i, w in enumerate((w for w, c in words.items() if c > 1), start=3)}
        self.tags = {t: i for i, t in enumerate(sorted({t for s in sentences for t in s.upos}), 3)}

    def batch(self, sentences: list[Sentence]) -> tuple[Tensor, Tensor, Tensor, list[int]]:
        """Return words and tags with the root (2) in front, heads, and numbers of words."""
        lengths = [s.n_words for s in sentences]
        words, tags, heads = np.zeros((3, len(sentences), max(lengths) + 1), np.int64)
        words[:, 0], tags[:, 0], heads[:] = 2, 2, -1
        for i, s in enumerate(sentences):
            words[i, 1 : lengths[i] + 1] = [self.words.get(f.lower(), 1) for f in s.forms]
            tags[i, 1 : lengths[i] + 1] = [self.tags.get(tag, 1) for tag in s.upos]
            heads[i, 1 : lengths[i] + 1] = s.heads
        return torch.from_numpy(words), torch.from_numpy(tags), torch.from_numpy(heads), lengths


class Biaffine(nn.Module):
    """Scores of arcs: word and tag vectors, a BiLSTM, and a product of its states."""

    def __init__(self, vocabulary: Vocabulary, size: int) -> None:
        super().__init__()
        self.words = nn.Embedding(len(vocabulary.words) + 3, size, padding_idx=0)
        self.tags = nn.Embedding(len(vocabulary.tags) + 3, size // 2, padding_idx=0)
        self.lstm = nn.LSTM(size + size // 2, size, 2, batch_first=True, bidirectional=True)
        self.dependent, self.head = nn.Linear(2 * size, size), nn.Linear(2 * size, size)
        self.product = nn.Parameter(torch.zeros(size + 1, size))
        self.dropout = nn.Dropout(0.3)

    def forward(self, words: Tensor, tags: Tensor, lengths: list[int]) -> Tensor:
        """Return scores[i, dependent, head]."""
        if self.training:  # some words are unknown, as they will be
            words = words.masked_fill((torch.rand(words.shape) < 0.15) & (words > 2), 1)
        vectors = self.dropout(torch.cat([self.words(words), self.tags(tags)], -1))
        packed = nn.utils.rnn.pack_padded_sequence(
            vectors, torch.tensor(lengths) + 1, batch_first=True, enforce_sorted=False
        )
        states, _ = nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        ends = [layer(self.dropout(states)) for layer in (self.dependent, self.head)]
        dependent, head = (self.dropout(nn.functional.leaky_relu(end, 0.1)) for end in ends)
        return nn.functional.pad(dependent, (0, 1), value=1.0) @ self.product @ head.mT


def loss_of(
    name: str, layer: TreeLayer, scores: Tensor, heads: Tensor, lengths: list[int]
) -> Tensor:
    """Return the sum of a loss over a batch."""
    if name == "heads":
        padding = torch.arange(scores.shape[1]) > torch.tensor(lengths)[:, None]
        scores = scores.masked_fill(padding[:, None], -torch.inf)
        scores = scores.diagonal_scatter(torch.full(heads.shape, -torch.inf), dim1=1, dim2=2)
        return nn.functional.cross_entropy(scores.mT, heads, ignore_index=-1, reduction="sum")
    return getattr(layer(scores, lengths), f"{name}_loss")(heads).sum()


def batches(sentences: list[Sentence], words: int) -> Iterator[list[Sentence]]:
    """Group sentences of similar length into batches of some words."""
    batch: list[Sentence] = []
    for s in sorted(sentences, key=lambda s: s.n_words):
        if batch and (len(batch) + 1) * s.n_words > words:
            yield batch
            batch = []
        batch.append(s)
    yield batch


def train(
    name: str,
    groups: list[list[Sentence]],
    model: Biaffine,
    vocabulary: Vocabulary,
    layer: TreeLayer,
    seed: int,
    epochs: int,
) -> None:
    """Train a parser; the learning rate falls to 0 in a line."""
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, betas=(0.9, 0.95))
    steps = epochs * len(groups)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0 - step / steps)
    rng = np.random.default_rng(seed)
    for _ in range(epochs):
        for i in rng.permutation(len(groups)):
            words, tags, heads, lengths = vocabulary.batch(groups[i])
            scores = model(words, tags, lengths)
            loss = sum(loss_of(n, layer, scores, heads, lengths) for n in name.split("+"))
            optimizer.zero_grad()
            (loss / sum(lengths)).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            schedule.step()


@torch.no_grad()
def evaluate(model: Biaffine, dev: list[Sentence], vocabulary: Vocabulary, layer: TreeLayer) -> str:
    """Return the percentages of right heads (UAS) and of sentences without a wrong one."""
    right, words, whole = 0, 0, 0
    for group in batches(dev, 3000):
        forms, tags, heads, lengths = vocabulary.batch(group)
        same = layer(model(forms, tags, lengths), lengths).best() == heads
        right += int(same.sum()) - int((heads < 0).sum())
        words, whole = words + sum(lengths), whole + int(same.all(1).sum())
    return f"UAS {100.0 * right / words:.2f}, whole trees {100.0 * whole / len(dev):.2f}"


def main() -> None:
    """Train and evaluate a parser for each loss and seed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs=2, metavar="FILE", help="CoNLL-U to train on, and to test")
    parser.add_argument("--loss", action="append", help="heads, likelihood, hinge, sparse_map, a+b")
    for name, default in {"sentences": 2000, "epochs": 10, "size": 64, "seeds": 1}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--crossing", action="store_true", help="trees may cross")
    given = parser.parse_args()
    layer = TreeLayer(projective=not given.crossing)
    treebank, dev = (list(read_conllu(path, require_heads=True)) for path in given.files)
    sentences = treebank[:: max(1, len(treebank) // given.sentences)][: given.sentences]
    sentences = [s for s in sentences if given.crossing or is_projective(s.heads)]
    vocabulary, groups = Vocabulary(sentences), list(batches(sentences, 600))
    for seed in range(given.seeds):
        for name in given.loss or ("heads", "heads+hinge"):
            torch.manual_seed(seed)
            model = Biaffine(vocabulary, given.size)
            train(name, groups, model, vocabulary, layer, seed, given.epochs)
            found = evaluate(model.eval(), dev, vocabulary, layer)
            print(f"{name}, seed {seed}: {found}", flush=True)


if __name__ == "__main__":
    main()
