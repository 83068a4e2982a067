"""Train UDPipe 1 on the sentences that the models of other languages learned from, and test it.

    python bench/languages_beside_udpipe.py swedish danish … [--treebanks FOLDER]

Options are its own, but for time the tokenizer and the tagger make 10 passes, as its parser does,
and the parser has no search-based oracle: for Swedish, more passes and that oracle, as in published
models, took four times as long and gained 0.2 LAS. Test parts are parsed once, from their words and
from text. Results of former runs are kept in bench/results/languages_beside_udpipe.json. Needs
``pip install ufal.udpipe``, and git.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from measure import HERE, arguments, markdown, result, train_udpipe, udpipe, write_result
from throughput import text_of, without_tags

from bbparse.text.raw import plain_text
from bbparse.treebank import read_conllu
from bbparse.treebank.alignment import evaluate_text

sys.path.append(str(HERE.parent / "models"))
from build import LANGUAGES, Treebanks

NAME = "languages_beside_udpipe"
#: Words of each language at most, as in models/build.py.
WORDS = 40_000


def measured(name: str, treebanks: Treebanks, folder: Path) -> dict[str, Any]:
    """Train UDPipe on a language, and return its F1 on the test part."""
    sentences = treebanks.training(name, treebanks.words)
    test = treebanks.sentences(LANGUAGES[name]["test"])
    started, model = time.process_time(), folder / "model"
    train_udpipe(model, text_of(sentences), "epochs=10", "iterations=10", "structured_interval=0")
    row: dict[str, Any] = {
        "trained": sum(sentence.n_words for sentence in sentences),
        "seconds": time.process_time() - started,
    }
    for kind, reader, given in (
        ("words", "conllu", text_of([without_tags(sentence) for sentence in test])),
        ("text", "tokenize", plain_text(test)),
    ):
        path = folder / "parsed.conllu"
        path.write_text(udpipe(model, reader, "", "")(given), encoding="utf-8")
        scores = evaluate_text(test, read_conllu(path))
        row[kind] = {key: scores[key].f1 for key in ("upos", "las")}
    return row


def main() -> None:
    """Measure languages that are not in the results yet."""
    given = arguments(__doc__, "names+", treebanks=str(HERE.parent / "models" / "treebanks"))
    rows: dict[str, Any] = result(NAME).get("rows", {})
    with tempfile.TemporaryDirectory() as folder:
        treebanks = Treebanks(Path(given.treebanks), Path(folder), WORDS)
        for name in given.names:
            rows[name] = measured(name, treebanks, Path(folder))
            table = markdown(
                "language",
                rows.items(),
                """
                words {trained:,} | seconds {seconds:.0f} | UPOS {words[upos]:.2p}
                | LAS {words[las]:.2p} | text: UPOS {text[upos]:.2p} | LAS {text[las]:.2p}""",
            )
            write_result(NAME, {"rows": rows}, table, ["ufal.udpipe"])


if __name__ == "__main__":
    main()
