"""Networks of parsers with random weights, and their scores in plain numpy and double precision."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bbparse.models.scoring.arc_network import ArcNetwork
from bbparse.neural.packing import rounded
from bbparse.neural.sequence import QUANTUM
from bbparse.treebank import Sentence
from bbparse.treebank.encode import (
    NETWORK_ATTRIBUTES,
    PAD,
    attribute_hash,
    attribute_values,
    encode,
)
from tests.neural import plain

Arrays = dict[str, np.ndarray]

LABELS = ("case", "nsubj", "obj", "root")
TAGS = ("NOUN", "VERB", "ADP", "PUNCT", "CCONJ", "AUX", "SCONJ", "PRON")
KINDS = ({"VERB", "AUX"}, {"PUNCT"}, {"CCONJ", "SCONJ"}, {"NOUN", "PRON"})
#: Attributes that networks read, the first ones of a word.
N_READ = len(NETWORK_ATTRIBUTES)
#: Steps of distances from 1 on; the last is that of all longer ones.
STEPS = [0, 1, 2, 3, 4, *[5] * 2, *[6] * 3, *[7] * 5, *[8] * 15, 9]
SIZES = {
    "word": 16,
    "width": 32,
    "embeddings": 0,
    "biaffine_dim": 32,
    "arc_mlp_dim": 16,
    "part_dim": 16,
    "label_dim": 32,
}


def random_sentence(rng: np.random.Generator, n: int) -> Sentence:
    return Sentence.from_words(
        [f"w{k}" for k in rng.integers(0, 9, n)],
        upos=[TAGS[k] for k in rng.integers(0, len(TAGS), n)],
    )


def random_network(
    rng: np.random.Generator,
    sentences: Sequence[Sentence],
    kinds: str = "rc",
    labels: tuple[str, ...] = LABELS,
    embeddings: int = 0,
    root: int = -1,
    trained: bool = False,
) -> ArcNetwork:
    """A network that knows half of the words of some sentences; trained ones are rounded."""
    seen = np.unique([v for s in sentences for v in encode(s)[PAD:-PAD, :N_READ].flat])
    keys = np.sort(rng.choice(seen, len(seen) // 2, replace=False))
    sizes = {**SIZES, "embeddings": embeddings}
    vectors = rng.integers(-60, 60, (len(keys), sizes["word"])).astype(np.int8)
    parameters = {
        name: rng.normal(0.0, 0.3, shape).astype(np.float32)
        for name, shape in ArcNetwork.shapes(kinds, sizes, len(labels)).items()
    }
    if trained:
        parameters = rounded(parameters)
    return ArcNetwork(labels, kinds, sizes, keys, vectors, parameters, root)


def arc_score(
    ends: np.ndarray,
    tags: Sequence[str],
    h: int,
    m: int,
    sizes: Sequence[int],
    table: np.ndarray,
    out: np.ndarray,
) -> float:
    """The score of an arc, given a, b, c, d of all words and the tags of words from the root on."""
    pairs, shared = sizes
    a, b = ends[h, :pairs], ends[m, pairs : 2 * pairs]
    c, d = ends[h, 2 * pairs :][:shared], ends[m, 2 * pairs + shared :][:shared]
    low, high, left = min(h, m), max(h, m), int(h > m)
    rows = [2 * STEPS[min(high - low, len(STEPS)) - 1] + left]
    for k, kind in enumerate(KINDS):
        count = sum(tag in kind for tag in tags[low + 1 : high])
        rows.append(20 + 8 * k + 2 * min(count, 3) + left)
    return float(a @ b + out @ np.maximum(c + d + table[rows].sum(axis=0), 0.0))


def part_score(
    ends: np.ndarray,
    at: int,
    h: int,
    x: int,
    m: int,
    out: np.ndarray,
    table: np.ndarray,
    none: np.ndarray,
) -> float:
    """The score of head, third word (-1: none) and modifier, whose vectors begin in a column."""
    size = len(out)

    def vector(word: int, number: int) -> np.ndarray:
        return ends[word, at + number * size :][:size]

    r, e = (vector(x, 2), vector(x, 5)) if x >= 0 else (none[:size], none[size:])
    where = 0 if x < min(h, m) else 1 if x < max(h, m) else 2
    distance = abs(x - m)
    step = 7 if x < 0 else distance - 1 if distance <= 5 else 5 if distance <= 10 else 6
    rest = vector(h, 3) + vector(m, 4) + e + table[(3 * (m > h) + where) * 8 + step]
    return float((vector(h, 0) * vector(m, 1) * r).sum() + out @ np.maximum(rest, 0.0))


def in_double(network: ArcNetwork) -> Arrays:
    """Weights of a network, and its vectors, in double precision."""
    arrays = {**network.weights.values, "vectors": network.vectors * QUANTUM}
    return {name: array.astype(float) for name, array in arrays.items()}


def mean_tags(
    network: ArcNetwork, sentence: Sentence, i: int, vector: dict[int, np.ndarray]
) -> np.ndarray:
    """The mean vector of the likely tags of a word, less that of its own tags."""
    assert sentence.likely_tags is not None
    total = np.zeros(network.sizes["word"])

    def add(share: float, upos: str, xpos: str, feats: str, names: Sequence[str]) -> None:
        values = attribute_values("form", "lemma", upos, xpos, feats)
        for name in names:
            total[:] += share * vector.get(attribute_hash(name, values[name]), np.zeros(len(total)))

    (tags, feats), of_tags, of_feats, _ = sentence.likely_tags
    for at in range(of_tags.begin[i], of_tags.begin[i + 1]):
        upos, xpos = tags[of_tags.numbers[at]].split("\t")
        add(of_tags.probabilities[at], upos, xpos, "_", ("upos", "xpos"))
    for at in range(of_feats.begin[i], of_feats.begin[i + 1]):
        add(of_feats.probabilities[at], "_", "_", feats[of_feats.numbers[at]], ("feats",))
    add(-1.0, sentence.upos[i], sentence.xpos[i], sentence.feats[i], ("upos", "xpos", "feats"))
    return total


class Plain:
    """What a network says of a sentence, by definition; of ``unknown`` words nothing is known.

    Its weights may be ``given`` as `in_double` does.
    """

    def __init__(
        self,
        network: ArcNetwork,
        sentence: Sentence,
        outside: np.ndarray | None = None,
        unknown: Sequence[int] = (),
        given: Arrays | None = None,
    ) -> None:
        self.p = p = in_double(network) if given is None else given
        self.sizes, self.n = network.sizes, sentence.n_words
        self.n_labels = len(network.labels)
        self.tags = ["", *sentence.upos]
        vector = dict(zip(network.keys.tolist(), p["vectors"]))
        zero = np.zeros(network.sizes["word"])
        own = encode(sentence)[PAD:-PAD, :N_READ].tolist()
        words = np.array([sum((vector.get(v, zero) for v in row), zero) for row in own])
        if sentence.likely_tags is not None:
            for i, row in enumerate(own[1:]):
                if any(v in vector for v in row):
                    words[i + 1] += mean_tags(network, sentence, i, vector)
        if outside is not None:
            words[1:] += outside @ p["embeddings_w"]
        words[list(unknown)] = 0.0
        self.ends = plain.linear(p, "end", plain.in_sentence(p, network.kinds, words))

    def arc(self, h: int, m: int) -> float:
        sizes = self.sizes["biaffine_dim"], self.sizes["arc_mlp_dim"]
        return arc_score(self.ends, self.tags, h, m, sizes, self.p["arc_table"], self.p["arc_out"])

    def arcs(self) -> np.ndarray:
        """Scores of all arcs, head by modifier."""
        words = range(self.n + 1)
        return np.array([[self.arc(h, m) if 0 < m != h else -np.inf for m in words] for h in words])

    def part(self, kind: str, h: int, x: int, m: int) -> float:
        """The score of a sibling (``sib``) or a grandchild (``gc``) with the third word x."""
        at = 2 * (self.sizes["biaffine_dim"] + self.sizes["arc_mlp_dim"])
        at += 6 * self.sizes["part_dim"] if kind == "gc" else 0
        names = f"{kind}_out", f"{kind}_table", "none"
        return part_score(self.ends, at, h, x, m, *(self.p[name] for name in names))

    def labels(self, h: int, m: int) -> np.ndarray:
        begin = (
            2 * (self.sizes["biaffine_dim"] + self.sizes["arc_mlp_dim"])
            + 12 * self.sizes["part_dim"]
        )
        size = self.sizes["label_dim"]
        first, second = self.ends[h, begin:][:size], self.ends[m, begin + size :][:size]
        return plain.linear(self.p, "label", np.maximum(first + second, 0.0))[: self.n_labels]
