"""What word vectors are worth to the guide, with few training sentences.

    python bench/vectors.py TRAIN DEV RAW… [--sentences 1000] [--dev-sentences 500] [--seeds 1,2,3]

The vectors are made here, of the words of the treebanks RAW: 100 dimensions by a singular value
decomposition of the positive mutual information of words (that occur twice) and the 2,000 most
frequent ones at each of four places around them (Levy, Goldberg & Dagan 2015). The guide of a
configuration learns from the first sentences of TRAIN, with the treebank's tags and without any,
with vectors and without; told is how many words of DEV have the right head, and label, by it
alone, each word by itself. Prints a table.
"""

from __future__ import annotations

import argparse
from collections import Counter
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from bbparse.configuration import Configuration
from bbparse.learning.candidates import prune_all
from bbparse.learning.data import prepare
from bbparse.learning.network import train_network
from bbparse.outside import Outside, read_vectors
from bbparse.scoring.network import Network
from bbparse.treebank import Sentence, read_conllu
from bbparse.treebank.encode import encode

CONTEXTS, PLACES, DIMENSIONS = 2000, (-2, -1, 1, 2), 100


def make_vectors(sentences: list[Sentence], path: Path) -> None:
    """Write vectors of the words of sentences, the most frequent ones first."""
    texts = [[form.lower() for form in sentence.forms] for sentence in sentences]
    counts = Counter(word for text in texts for word in text)
    words = sorted((w for w, c in counts.items() if c > 1), key=lambda w: (-counts[w], w))
    number = {word: i for i, word in enumerate(words)}
    seen = np.zeros((len(words), len(PLACES) * CONTEXTS), np.float32)
    for text in texts:
        ids = [number.get(word, -1) for word in text]
        for i, own in enumerate(ids):
            for k, place in enumerate(PLACES):
                if own >= 0 and 0 <= i + place < len(ids) and 0 <= ids[i + place] < CONTEXTS:
                    seen[own, k * CONTEXTS + ids[i + place]] += 1
    chance = seen.sum(axis=0) ** 0.75
    with np.errstate(divide="ignore", invalid="ignore"):
        seen /= seen.sum(axis=1, keepdims=True) * (chance / chance.sum())
        seen = np.nan_to_num(np.maximum(np.log(seen), 0.0), posinf=0.0)
    # Halko, Martinsson & Tropp 2011
    random = np.random.default_rng(0).standard_normal((len(words), DIMENSIONS + 20))
    basis = np.linalg.qr(seen.T @ random.astype(np.float32))[0]
    for _ in range(4):
        basis = np.linalg.qr(seen.T @ (seen @ basis))[0]
    left, values, _ = np.linalg.svd(seen @ basis, full_matrices=False)
    rows = left[:, :DIMENSIONS] * np.sqrt(values[:DIMENSIONS])
    with open(path, "w", encoding="utf-8") as file:
        for word, row in zip(words, rows):
            print(word, *(f"{x:.4f}" for x in row), file=file)


def attached(
    network: Network, dev: list[Sentence], arcs: list, outside: Outside | None
) -> tuple[float, float]:
    """Share of words with the right head, and with its label, too."""
    heads = labels = 0
    for sentence, (head, mod) in zip(dev, arcs):
        more = None if outside is None else outside([sentence])[0]
        scores, names = network.scores(encode(sentence), head, mod, more)
        for m, gold in enumerate(sentence.heads, start=1):
            own = np.flatnonzero(mod == m)
            if len(own) and head[best := own[scores[own].argmax()]] == gold:
                heads += 1
                label = network.labels[names[best, : len(network.labels)].argmax()]
                labels += label == sentence.deprels[m - 1]
    words = sum(sentence.n_words for sentence in dev)
    return 100 * heads / words, 100 * labels / words


def bare(sentence: Sentence) -> Sentence:
    """A sentence without tags, lemmas and features."""
    return Sentence.from_words(sentence.forms, heads=sentence.heads, deprels=sentence.deprels)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("train")
    parser.add_argument("dev")
    parser.add_argument("raw", nargs="+")
    parser.add_argument("--config", default="english")
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--dev-sentences", type=int, default=500)
    parser.add_argument("--seeds", default="1,2,3")
    options = parser.parse_args()
    gold = (
        list(islice(read_conllu(options.train), options.sentences)),
        list(islice(read_conllu(options.dev), options.dev_sentences)),
    )
    config = Configuration.load(options.config)
    config = config.with_("pruner", folds=1).with_("model", projective=False)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "raw.vec"
        make_vectors([s for name in options.raw for s in read_conllu(name)], path)
        print("| words have | vectors | seed | UAS | LAS |\n| --- | --- | --- | --- | --- |")
        for tags, change in (("tags", lambda s: s), ("no tags", bare)):
            train, dev = (list(map(change, some)) for some in gold)
            data = prepare(train, config.model)
            pruner = prune_all(data, config)
            arcs = [pruner.candidates(encode(sentence)) for sentence in dev]
            labels = tuple(sorted({label for s in train for label in s.deprels}))
            for seed in map(int, options.seeds.split(",")):
                for name, outside in (("no", None), ("yes", partial(read_vectors, path))):
                    data.outside = None if outside is None else outside(train, dev)
                    own = config.with_("learning", seed=seed)
                    network = train_network(own, data, np.arange(len(train)), labels)
                    uas, las = attached(network, dev, arcs, data.outside)
                    print(f"| {tags} | {name} | {seed} | {uas:.2f} | {las:.2f} |", flush=True)


if __name__ == "__main__":
    main()
