"""What word vectors are worth to a tagger and a parser, with few training sentences.

    python bench/vectors.py TRAIN DEV RAW… [--sentences 1000] [--dev-sentences 500] [--seeds 1,2,3]

The vectors are made here, of the words of the treebanks RAW: 100 dimensions by a singular value
decomposition of the positive mutual information of words (that occur twice) and the 2,000 most
frequent ones at each of four places around them (Levy, Goldberg & Dagan 2015). Tagger and parser
(of a configuration, without factor families) learn from the first sentences of TRAIN, with vectors
and without. Told is how many words of DEV have the right tag, features and lemma, and, with the
treebank's tags and with the tagger's, the right head and label; p-values are those of the paired
bootstrap.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from measure import arguments

from bbparse.configuration import Configuration
from bbparse.embeddings import read_vectors
from bbparse.learning.reading import learn_to_read
from bbparse.parsing.parser import Parser
from bbparse.treebank import Sentence, compare_tallies, read_conllu
from bbparse.treebank.evaluation import tallied

CONTEXTS, PLACES, DIMENSIONS = 2000, (-2, -1, 1, 2), 100
MEASURES = ("upos", "xpos", "feats", "lemmas")


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


def parsed(parser: Parser, sentences: Iterable[Sentence]) -> list[Sentence]:
    """Sentences with the parser's trees."""
    return [
        replace(one.sentence, heads=list(one.trees[0].heads), deprels=list(one.trees[0].labels))
        for one in parser.parse_all(sentences)
    ]


def main() -> None:
    options = arguments(
        __doc__, "train", "dev", "raw+", config="universal", sentences=1000, dev_sentences=500,
        seeds="1,2,3",
    )  # fmt: skip
    train = list(islice(read_conllu(options.train), options.sentences))
    dev = list(islice(read_conllu(options.dev), options.dev_sentences))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "raw.vec"
        make_vectors([s for name in options.raw for s in read_conllu(name)], path)
        print("| tags | measure | seed | without | with | p |\n" + "| --- " * 6 + "|")
        for seed in map(int, options.seeds.split(",")):
            tallies = []
            for embeddings in (None, partial(read_vectors, path)):
                config = Configuration.load(options.config).with_("learning", seed=seed)
                own = Parser.train(
                    train, (), config, factors=[], embeddings=embeddings,
                    reading=lambda source, kept, seed=seed: learn_to_read(train, seed, source),
                )  # fmt: skip
                tallies.append([tallied(dev, parsed(own, dev)),
                                tallied(dev, parsed(own, map(own.tagger, dev)))])
            for tags, pair in zip(("given", "own"), zip(*tallies)):
                for name, found in compare_tallies(*pair).items():
                    if name in ("uas", "las") or (tags == "own" and name in MEASURES):
                        print(
                            f"| {tags} | {name} | {seed} | {100 * found.first:.2f} |"
                            f" {100 * found.second:.2f} | {found.p_value:.4f} |", flush=True,
                        )  # fmt: skip


if __name__ == "__main__":
    main()
