"""Measure words per second beside UDPipe 1 and spaCy, from file to file.

    python bench/beside_udpipe.py TRAIN DEV --model MODEL [--members 1,2] [--sentences N]
        [--repeat N] [--stream] [--keep FOLDER]

UDPipe and spaCy are trained on the first 2,000 sentences of TRAIN, for speed only: their time
depends on the size of their networks. UDPipe has the sizes of its published models (hidden layer of
200; embeddings of 20 for UPOS, features and relations, 50 for forms), spaCy its defaults for CPUs
(convolutions, width 96); it parses words without tags. All systems read, parse and write the same
file on one thread, in turns; medians of processor time without loading and compiling. With
``--stream`` another process copies half a gigabyte to and fro all the while; UDPipe's models are
kept in FOLDER for a later run. Writes bench/results/beside_udpipe.json and .md (with ``--stream``,
beside_udpipe_stream). Needs ``pip install ufal.udpipe spacy``.
"""

from __future__ import annotations

import contextlib
import gc
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from measure import arguments, markdown, race, read_sample, train_udpipe, udpipe, write_result
from throughput import Run, parse_file, text_of

from bbparse.parser.parser import Parser
from bbparse.text.raw import plain_text
from bbparse.treebank import Sentence, is_projective, read_conllu

SENTENCES = 2000
OPTIONS = (
    "iterations=1;transition_system=projective;transition_oracle=dynamic;structured_interval=8;"
    "hidden_layer=200;embedding_upostag=20;embedding_feats=20;embedding_deprel=20;"
    "embedding_form=50;embedding_xpostag=0;embedding_lemma=0;batch_size=10;learning_rate=0.02;"
    "learning_rate_final=0.001;l2=0.5;use_gold_tags=1"
)
#: Options of UDPipe's tokenizer and tagger.
TEXT = ("epochs=1", "models=1;iterations=1")


#: A program whose memory traffic leaves little for others.
STREAM = """
import numpy as np
there, back = np.ones(1 << 26), np.ones(1 << 26)
while True:
    np.copyto(there, back)
    np.copyto(back, there)
"""


@contextlib.contextmanager
def streaming(wanted: bool) -> Iterator[None]:
    """Run `STREAM` in another process, if wanted."""
    if not wanted:
        yield
        return
    with subprocess.Popen([sys.executable, "-c", STREAM]) as process:
        try:
            yield
        finally:
            process.kill()


def by_udpipe(process: Callable[[str], str], source: Path) -> None:
    """UDPipe from one file to another."""
    made = process(source.read_text(encoding="utf-8"))
    source.with_name("udpipe.conllu").write_text(made, encoding="utf-8")


class BySpacy:
    """spaCy's parser from one file to another, with a network that has seen some sentences."""

    def __init__(self, sentences: Sequence[Sentence]) -> None:
        import spacy
        from spacy.training import Example

        self.nlp = spacy.blank("en")
        self.nlp.add_pipe("parser")
        gold = [
            Example.from_dict(
                spacy.tokens.Doc(self.nlp.vocab, s.forms),
                {"heads": [h - 1 if h else i for i, h in enumerate(s.heads)], "deps": s.deprels},
            )
            for s in sentences
            if is_projective(s.heads)
        ]
        optimizer = self.nlp.initialize(lambda: gold)
        random.Random(1).shuffle(gold)
        for start in range(0, len(gold), 50):
            self.nlp.update(gold[start : start + 50], sgd=optimizer)

    def __call__(self, source: Path) -> None:
        from spacy.tokens import Doc

        sentences = list(read_conllu(source))
        docs = self.nlp.pipe(Doc(self.nlp.vocab, s.forms) for s in sentences)
        with source.with_name("spacy.conllu").open("w", encoding="utf-8") as out:
            for doc in docs:
                for i, word in enumerate(doc, start=1):
                    head = 0 if word.head is word else word.head.i + 1
                    out.write(f"{i}\t{word.text}\t_\t_\t_\t_\t{head}\t{word.dep_}\t_\t_\n")
                out.write("\n")


def main() -> None:
    """Time every system."""
    given = arguments(
        __doc__,
        "train",
        "dev",
        model=str,
        members="",
        sentences=int,
        repeat=5,
        stream=False,
        keep="",
    )
    gc.set_threshold(200_000, 20, 100)  # as the command does
    sentences = read_sample(given.dev, given.sentences)
    words = sum(sentence.n_words for sentence in sentences)
    few = read_sample(given.train, None)[:SENTENCES]
    parser, name = Parser.load(given.model), f"bbparse, {Path(given.model).stem}"
    parsers = {name: parser}
    for count in filter(None, given.members.split(",")):
        parsers[f"{name}, `--members {count}`"] = parser.with_options(members=int(count))
    kinds: dict[str, dict[str, Callable[[], object]]] = {"tags": {}, "text": {}}
    rows: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder, streaming(given.stream):
        path, text = Path(folder, "input.conllu"), Path(folder, "input.txt")
        path.write_text(text_of(sentences), encoding="utf-8")
        text.write_text(plain_text(sentences), encoding="utf-8")
        for kind, source, training, parts in (
            ("tags", path, ("none", "none"), ("conllu", "none")),
            ("text", text, TEXT, ("tokenize", "")),
        ):
            model = Path(given.keep or folder, f"{kind}.udpipe")
            if not model.exists():
                train_udpipe(model, text_of(few), *training, OPTIONS)
            for title, beam in (("beam of 5", 5), ("greedy", 1)):
                process = udpipe(model, *parts, f"beam_search={beam}")
                kinds[kind][f"UDPipe 1, {title}"] = partial(by_udpipe, process, source)
            kinds[kind] |= {name: partial(parse_file, one, source) for name, one in parsers.items()}
        kinds["tags"]["spaCy, without tags"] = partial(BySpacy(few), path)
        for kind, calls in kinds.items():
            for name, seconds in race(calls, given.repeat, clock=time.process_time).items():
                rows.setdefault(name, {})[kind] = words / seconds
        for name, one in parsers.items():
            rows[name] |= Run(one, None, path).quality()
    beam = rows["UDPipe 1, beam of 5"]
    for row in rows.values():
        row["ratios"] = {kind: row[kind] / beam[kind] for kind in kinds if kind in row}
    table = markdown(
        "system",
        rows.items(),
        """
        words/s, tags given {tags:,.0f} | times UDPipe's beam {ratios[tags]:.2f}
        | words/s from text {text:,.0f} | times UDPipe's beam {ratios[text]:.2f}
        | UAS {uas:.2p} | LAS {las:.2p}""",
    )
    facts = {"dev": Path(given.dev).name, "words": words, "rows": rows}
    name = "beside_udpipe_stream" if given.stream else "beside_udpipe"
    write_result(name, facts, table, ["ufal.udpipe", "spacy"])


if __name__ == "__main__":
    main()
