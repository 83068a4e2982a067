"""Make the models of other languages: a base, and a small model of each language on it.

    python models/build.py base FOLDER     # of multilingual e5-small
    python models/build.py dutch french …

The base holds the encoder, a joint model of all languages, and a table that tells them apart. Each
model goes into a distribution of its own, ``models/NAME``; once these are installed, `bbparse parse
--text --model world` parses each paragraph by the model of its language.

`languages.toml` names the treebanks and their licences. Those that are not in the folder TREEBANKS
are cloned from github.com/UniversalDependencies.
"""

from __future__ import annotations

import argparse
import subprocess
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any

from bbparse.apps.cli.model import results
from bbparse.models.configuration import Configuration
from bbparse.models.learning.train import TextModels, train_text_models
from bbparse.models.model import NOTE
from bbparse.models.model_file import load_base
from bbparse.neural.embeddings import Embeddings, EncoderStates, fit_base
from bbparse.neural.embeddings.encoder import identity
from bbparse.neural.embeddings.hugging_face import read_bert
from bbparse.parser.parser import Parser
from bbparse.text.languages import Languages
from bbparse.text.raw import plain_text
from bbparse.treebank import Sentence, read_conllu

HERE = Path(__file__).resolve().parent
LANGUAGES = tomllib.loads((HERE / "languages.toml").read_text("utf-8"))
PIECES = LANGUAGES.pop("pieces")
URL = "https://github.com/UniversalDependencies"
BASE, NAME = "world", "multilingual-e5-small"
#: Layers of the encoder, bits of its weights, and words of each language that it reads.
LAYERS, BITS, MANY = 6, 4.0, 1_000_000
SPDX = {
    "CC BY-SA 4.0": "CC-BY-SA-4.0",
    "CC BY-SA 3.0": "CC-BY-SA-3.0",
    "CC BY 4.0": "CC-BY-4.0",
    "LGPL-LR": "LGPLLR",
}
say = partial(print, flush=True)


class Treebanks:
    """Treebanks as git repositories in a folder; their files are copied to another folder."""

    def __init__(self, folder: Path, work: Path, words: int) -> None:
        self.folder, self.work, self.words = folder, work, words

    def sentences(self, place: str) -> list[Sentence]:
        """Return the sentences of ``TREEBANK[@COMMIT] SPLIT``."""
        name, split = place.split()
        treebank, _, commit = name.partition("@")
        repository = self.folder / treebank
        if not repository.exists():
            subprocess.run(["git", "clone", "-q", f"{URL}/{treebank}", repository], check=True)

        def git(*command: str) -> bytes:
            call = ["git", "-C", str(repository), *command]
            return subprocess.run(call, check=True, capture_output=True).stdout

        names = git("ls-tree", "--name-only", commit or "HEAD").decode().split("\n")
        file = max(name for name in names if name.endswith(f"-ud-{split}.conllu"))
        path = self.work / file
        path.write_bytes(git("cat-file", "blob", f"{commit or 'HEAD'}:{file}"))
        return list(read_conllu(path, require_heads=True, skip_invalid=True))

    def training(self, name: str, most: int) -> list[Sentence]:
        """Return training sentences of a language that are not in its dev and test parts."""
        about, chosen = LANGUAGES[name], list[Sentence]()
        parts = [self.sentences(about[part]) for part in ("dev", "test") if part in about]
        held_out = {key for part in parts for sentence in part for key in keys_of(sentence)}
        for place in about["train"]:
            for sentence in self.sentences(place):
                if held_out.isdisjoint(keys_of(sentence)):
                    chosen.append(sentence)
        return first(chosen, most)

    def words_of_all(self) -> Iterator[str]:
        """Yield the words that choose the pieces of the encoder."""
        for place in PIECES:
            for sentence in self.sentences(place):
                yield from sentence.forms
        for name in LANGUAGES:
            for sentence in self.training(name, MANY):
                yield from sentence.forms


def first(sentences: Sequence[Sentence], most: int) -> list[Sentence]:
    """Return the first sentences, of some so many words."""
    sizes = accumulate((sentence.n_words for sentence in sentences), initial=0)
    return [sentence for sentence, before in zip(sentences, sizes) if before < most]


def keys_of(sentence: Sentence) -> list[str]:
    """Return what two versions of a sentence have in common: their identifier, or their words."""
    marks = [line for line in sentence.lines if line.startswith("# sent_id")]
    return marks + [" ".join(sentence.forms)] * (sentence.n_words > 5)


def train(
    sentences: Sequence[Sentence],
    dev: Sequence[Sentence],
    embeddings: Callable[..., Embeddings],
    place: Path,
    about: dict[str, str],
) -> Parser:
    def read(embeddings: Any, checkpoint: Any) -> TextModels:
        return train_text_models(sentences, 1, embeddings, checkpoint, quick=True, say=say)

    config = Configuration.load("head")
    checkpoint = place.with_suffix(".checkpoint")
    options = {"reading": read, "about": about, "report": say, "checkpoint": checkpoint}
    return Parser.train(sentences, dev, config, embeddings=embeddings, **options)


def head(name: str, treebanks: Treebanks) -> None:
    """Make the model of a language, with its accuracy on some of the dev part, if there is one."""
    about = LANGUAGES[name]
    dev = first(treebanks.sentences(about["dev"]), treebanks.words // 4) if "dev" in about else []
    base = partial(fit_base, load_base(path_of(BASE)), folder=treebanks.work / f"{name}.states")
    known = {"name": ", ".join(about["train"]), "language": about["code"]}
    sentences = treebanks.training(name, treebanks.words)
    known["license"] = about["license"]
    parser = train(sentences, dev, base, treebanks.work / name, known)
    if dev:
        parser.model.notes[NOTE]["results"] = results(parser.model, dev)
        say(name, parser.model.notes[NOTE]["results"])
    write(name, parser, about["license"])


def base(folder: Path, treebanks: Treebanks) -> None:
    """Make the base: the joint model knows universal tags and relations only.

    Treebanks whose licence is no CC BY or CC BY-SA are left out of it.
    """
    each = {name: treebanks.training(name, treebanks.words // 8) for name in LANGUAGES}
    sentences = [
        replace(
            sentence,
            lemmas=["_"] * sentence.n_words,
            xpos=["_"] * sentence.n_words,
            feats=["_"] * sentence.n_words,
            deprels=[label.partition(":")[0] for label in sentence.deprels],
        )
        for name, about in LANGUAGES.items()
        for sentence in each[name]
        if about["license"].startswith("CC")
    ]
    states = encoder_states(folder, treebanks)
    known = {"name": f"{len(LANGUAGES)} languages", "license": "CC BY-SA 4.0"}
    parser = train(sentences, [], lambda *_: states.fitted(sentences), treebanks.work / BASE, known)
    texts = {}
    for name, about in LANGUAGES.items():  # with less text, languages are mistaken for others
        spread = treebanks.training(name, MANY)
        step = max(1, sum(sentence.n_words for sentence in spread) // 12_000)
        texts[about["code"]] = plain_text(spread[::step])[:60_000]
    names = {LANGUAGES[name]["code"]: name for name in LANGUAGES}
    parser.model.enhancer = None  # graphs need the conventions of one treebank
    parser.model.languages = Languages.learned(texts, names)
    write(BASE, parser, "CC BY-SA 4.0")


def encoder_states(folder: Path, treebanks: Treebanks) -> EncoderStates:
    """Return the states of the encoder, with its layers and pieces that are used."""
    whole = read_bert(folder, (None, LAYERS), BITS)
    words = set(treebanks.words_of_all())
    words |= {piece for piece in whole.pieces.pieces if len(piece.replace("▁", "")) == 1}
    encoder = whole.with_frequent(words, len({i for w in words for i in whole.pieces.of_word(w)}))
    note: dict[str, Any] = {**encoder.note, "name": NAME, "license": "MIT"}
    note |= {
        "revision": None,
        "kind": "encoder",
        "hash": encoder.hash,
        "dimension": encoder.dimension,
    }
    return EncoderStates(
        note, identity(encoder.dimension), treebanks.work / "world.states", encoder
    )


def path_of(name: str) -> Path:
    package = f"bbparse_{name.replace('-', '_')}"
    return HERE / name / package / f"{name}.model"


def write(name: str, parser: Parser, license: str) -> None:
    """Write a model and the distribution around it."""
    path = path_of(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    parser.save(path)
    package, needed = path.parent.name, '"bbparse"' + ', "bbparse-world"' * (name != BASE)
    (path.parent / "__init__.py").write_text(f'"""The model {name} of bbparse, as data."""\n')
    (HERE / name / "pyproject.toml").write_text(f"""[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "bbparse-{name}"
version = "0.1.0"
description = "The model {name} of bbparse"
license = "{SPDX[license]}"
dependencies = [{needed}]

[project.entry-points."bbparse.models"]
{name} = "{package}"

[tool.setuptools]
packages = ["{package}"]

[tool.setuptools.package-data]
{package} = ["*.model"]
""")
    say(f"wrote {path}: {path.stat().st_size / 1e6:.1f} MB")


def main() -> None:
    raw = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("names", nargs="+", metavar="NAME|base FOLDER")
    parser.add_argument("--treebanks", type=Path, default=HERE / "treebanks")
    parser.add_argument("--work", type=Path, default=HERE / "work")
    parser.add_argument("--words", type=int, default=40_000, help="words of each language at most")
    options = parser.parse_args()
    for folder in (options.treebanks, options.work):
        folder.mkdir(parents=True, exist_ok=True)
    treebanks = Treebanks(options.treebanks, options.work, options.words)
    if options.names[0] == "base":
        base(Path(options.names[1]), treebanks)
    else:
        for name in options.names:
            head(name, treebanks)


if __name__ == "__main__":
    main()
