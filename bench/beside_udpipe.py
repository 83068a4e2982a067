"""Words a second beside UDPipe 1, from file to file, tags given.

    python bench/beside_udpipe.py TRAIN DEV --model MODEL [--members 1,2] [--sentences N]
        [--repeat N]

UDPipe's parser learns from the first 2,000 sentences of TRAIN, for speed only: its time depends on
the size of its network, not on what that has learned. Sizes are those of its published models
(hidden layer of 200; embeddings of 20 for UPOS, features and relations, 50 for forms). All systems
read, parse and write the same file with one thread, in turns; medians of the processor's time.
Loading and compiling are not counted. Writes bench/results/beside_udpipe.json and .md.

Needs ``pip install ufal.udpipe``.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from measure import arguments, machine, markdown, race, read_sample, udpipe_model, write_result
from throughput import Run, text_of
from ufal import udpipe

from bbparse.cli.console import collect_less_garbage
from bbparse.parsing.parser import Parser

SENTENCES = 2000
OPTIONS = (
    "iterations=1;transition_system=projective;transition_oracle=dynamic;structured_interval=8;"
    "hidden_layer=200;embedding_upostag=20;embedding_feats=20;embedding_deprel=20;"
    "embedding_form=50;embedding_xpostag=0;embedding_lemma=0;batch_size=10;learning_rate=0.02;"
    "learning_rate_final=0.001;l2=0.5;use_gold_tags=1"
)


def parse_by_udpipe(pipeline: udpipe.Pipeline, source: Path) -> None:
    """Parse a file into another."""
    error = udpipe.ProcessingError()
    out = pipeline.process(source.read_text(encoding="utf-8"), error)
    if error.occurred():
        raise SystemExit(f"UDPipe: {error.message}")
    source.with_name("udpipe.conllu").write_text(out, encoding="utf-8")


def main() -> None:
    """Time every system."""
    given = arguments(__doc__, "train", "dev", model=str, members="", sentences=int, repeat=5)
    collect_less_garbage()  # as the command does
    sentences = read_sample(given.dev, given.sentences)
    words = sum(sentence.n_words for sentence in sentences)
    with tempfile.TemporaryDirectory() as folder:
        path, model = Path(folder, "input.conllu"), Path(folder, "udpipe.model")
        path.write_text(text_of(sentences), encoding="utf-8")
        treebank = text_of(read_sample(given.train, None)[:SENTENCES])
        model.write_bytes(udpipe_model(treebank, "none", "none", OPTIONS))
        loaded = udpipe.Model.load(str(model))
        calls: dict[str, Callable[[], object]] = {}
        for name, search in (("beam of 5", "beam_search=5"), ("greedy", "beam_search=1")):
            pipeline = udpipe.Pipeline(loaded, "conllu", udpipe.Pipeline.NONE, search, "conllu")
            calls[f"UDPipe 1, {name}"] = lambda pipeline=pipeline: parse_by_udpipe(pipeline, path)
        parser = Parser.load(given.model)
        name = Path(given.model).stem
        runs = {f"bbparse, {name}": Run(parser, None, path, [1])}
        for members in filter(None, given.members.split(",")):
            run = Run(parser.with_members(int(members)), None, path, [1])
            runs[f"bbparse, {name}, `--members {members}`"] = run
        calls |= {name: lambda run=run: run.whole(1) for name, run in runs.items()}
        times = race(calls, given.repeat, clock=time.process_time)
        beam = times["UDPipe 1, beam of 5"]
        rows = {
            name: {"words_per_second": words / seconds, "ratio": beam / seconds,
                   **(runs[name].quality() if name in runs else {})}
            for name, seconds in times.items()
        }  # fmt: skip
    table = markdown("system", rows.items(), """
        words/s {words_per_second:,.0f} | beside UDPipe's beam {ratio:.2f}
        | UAS {uas:.2p} | LAS {las:.2p}""")
    result = {"machine": machine("ufal.udpipe"), "dev": Path(given.dev).name, "words": words,
              "rows": rows}  # fmt: skip
    write_result("beside_udpipe", result, table)
    print(table)


if __name__ == "__main__":
    main()
