"""Sentences that no one wrote to be parsed, through every way in.

    python bench/hostile.py MODEL [--sentences N]

Repeated tokens, rulers, tables, mixed scripts, single characters and 2,000 words, through
`Parser.parse`, text, CoNLL-U and spaCy's pipe, each without a limit of its own. All must have a
tree and a valid bound. Writes bench/results/hostile.json.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import mean
from typing import Any

from click.testing import CliRunner
from measure import in_own_process, machine, markdown, peak_memory_mb, write_result

import bbparse
from bbparse.cli.main import cli
from bbparse.treebank import Sentence

WAYS = ("Python", "text", "CoNLL-U", "spaCy")
SCRIPTS = ("word", "слово", "λόγος", "言葉", "שלום", "كلمة", "🙂", "e\u0301", "ſt", "Ⅷ", "x" * 40)


def tokens(kind: int, rng: random.Random) -> list[str]:
    """One sentence of a kind."""
    size = rng.randint(2, 120)
    if kind == 0:
        return [rng.choice([".", "!", "=", "-", "the", "and", "(", '"', "Buffalo"])] * size
    if kind == 1:
        return ["Chapter", str(size), *["."] * size, "7"]
    if kind == 2:
        return [rng.choice(["-", "=", "*", "_"]) * size]
    if kind == 3:
        return [cell for _ in range(size // 4) for cell in (str(rng.randint(0, 99)), "|")] or ["|"]
    if kind == 4:
        return [rng.choice(SCRIPTS) for _ in range(size)]
    if kind == 5:
        return [chr(rng.choice([rng.randint(33, 126), rng.randint(161, 0x24FF)]))]
    return [rng.choice(["a", "dog", "saw", "the", "cat", "in", "and", ","]) for _ in range(2000)]


def sentences(count: int) -> list[list[str]]:
    """So many sentences, one in a hundred of 2,000 words."""
    rng = random.Random(1)
    return [tokens(6 if i % 100 == 99 else i % 6, rng) for i in range(count)]


def by_python(nlp: Any, words: list[str]) -> bool:
    tagged = nlp.parser.tagged(Sentence.from_words(words))
    found = nlp.parser.parse(tagged)
    return len(found) == 1 and found[0].upper_bound >= found[0].score


def by_text(nlp: Any, words: list[str]) -> bool:
    parsed = nlp(" ".join(words))
    return all(one.trees[0].upper_bound >= one.trees[0].score for one in parsed)


def by_conllu(nlp: Any, words: list[str]) -> bool:
    with tempfile.TemporaryDirectory() as place:
        file, out = Path(place, "a.conllu"), Path(place, "b.conllu")
        rows = (f"{i}\t{word}" + "\t_" * 8 for i, word in enumerate(words, 1))
        file.write_text("\n".join(rows) + "\n\n", encoding="utf-8")
        ran = CliRunner().invoke(cli, ["parse", str(file), "--output", str(out)])
        rows_out = [r for r in out.read_text(encoding="utf-8").split("\n") if r[:1].isdigit()]
    return ran.exit_code == 0 and all(row.split("\t")[6].isdigit() for row in rows_out)


def by_spacy(nlp: Any, words: list[str]) -> bool:
    from spacy.tokens import Doc

    doc = Doc(nlp.vocab, words=words)
    return next(iter(nlp.pipe([doc]))).has_annotation("DEP")


def of_spacy() -> Any:
    """A pipe with nothing but the parser in it."""
    import spacy

    nlp = spacy.blank("en")
    nlp.add_pipe("bbparse")
    return nlp


def through(way: str, model: str, count: int) -> dict[str, Any]:
    """Seconds of each sentence by one way."""
    nlp = of_spacy() if way == "spaCy" else bbparse.load(model)
    ways: tuple[Callable[[Any, list[str]], bool], ...] = (by_python, by_text, by_conllu, by_spacy)
    parse = dict(zip(WAYS, ways))[way]
    parse(nlp, ["It", "works", "."])
    times, processor, failed = [], [], []
    for words in sentences(count):
        started, used = time.perf_counter(), time.process_time()
        if not parse(nlp, words):
            failed.append(" ".join(words)[:40])
        times.append(time.perf_counter() - started)
        processor.append(time.process_time() - used)
    return {
        "sentences": count, "mean": mean(times), "slowest": max(times),
        "mean_processor": mean(processor), "slowest_processor": max(processor),
        "slowest_short": max(t for i, t in enumerate(processor) if i % 100 != 99),
        "memory_mb": peak_memory_mb(), "failed": failed,
    }  # fmt: skip


def main() -> None:
    """Measure and write the result."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("model")
    arguments.add_argument("--sentences", type=int, default=1000)
    arguments.add_argument("--way", choices=WAYS, help="print what one way gives")
    given = arguments.parse_args()
    if given.way:
        import json

        print(json.dumps(through(given.way, given.model, given.sentences)))
        return
    rows = {}
    for way in WAYS:
        rows[way] = in_own_process(
            __file__, given.model, "--sentences", str(given.sentences), "--way", way
        )
        print(way, rows[way], flush=True)
    text = markdown("way in", rows.items(), (
        ("sentences", lambda row: f"{row['sentences']:,}"),
        ("mean, s", lambda row: f"{row['mean']:.3f}"),
        ("slowest, s", lambda row: f"{row['slowest']:.2f}"),
        ("mean, s of processor", lambda row: f"{row['mean_processor']:.3f}"),
        ("slowest", lambda row: f"{row['slowest_processor']:.2f}"),
        ("up to 120 words", lambda row: f"{row['slowest_short']:.2f}"),
        ("memory, MB", lambda row: f"{row['memory_mb']:.0f}"),
        ("without tree or bound", lambda row: str(len(row["failed"]))),
    ))  # fmt: skip
    write_result("hostile", {"machine": machine(), "rows": rows}, text)


if __name__ == "__main__":
    main()
