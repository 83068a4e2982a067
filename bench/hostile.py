"""Send hostile sentences, requests and commands through every entry point.

    python bench/hostile.py MODEL [--sentences N] [--way commands]

Repeated tokens, rulers, tables, mixed scripts, single characters and 2,000 words go through
`Parser.parse`, text, CoNLL-U and spaCy's pipe, without a limit: all must get a tree and a valid
bound. Hostile requests to a service, with a deadline of a second, must not be answered by 5xx, take
much longer, or kill a worker. Commands that would destroy their input, fill memory or never end,
and invalid acts to the annotation page, must end with the expected status. Writes
bench/results/hostile.json; ``--way`` prints one part only.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import mean
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import numpy as np
from click.testing import CliRunner
from measure import arguments, markdown, peak_memory_mb, write_result
from serve import serving

import bbparse
from bbparse.apps.cli.main import cli
from bbparse.treebank import Sentence, read_conllu, write_conllu

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
        character = chr(rng.choice([rng.randint(33, 126), rng.randint(161, 0x24FF)]))
        return [character.strip() or "blank"]  # a form of blanks alone is refused
    return [rng.choice(["a", "dog", "saw", "the", "cat", "in", "and", ","]) for _ in range(2000)]


def sentences(count: int) -> list[list[str]]:
    """So many sentences, one in a hundred of 2,000 words."""
    rng = random.Random(1)
    return [tokens(6 if i % 100 == 99 else i % 6, rng) for i in range(count)]


def by_python(nlp: Any, words: list[str]) -> bool:
    tagged = nlp.tagged(Sentence.from_words(words))
    found = nlp.parse(tagged)
    return len(found) == 1 and found[0].upper_bound >= found[0].score


def by_text(nlp: Any, words: list[str]) -> bool:
    parsed = nlp(" ".join(words))
    return all(one.trees[0].upper_bound >= one.trees[0].score for one in parsed)


def by_conllu(nlp: Any, words: list[str]) -> bool:
    with tempfile.TemporaryDirectory() as place:
        file, out = Path(place, "a.conllu"), Path(place, "b.conllu")
        write_conllu(file, [Sentence.from_words(words)])
        ran = CliRunner().invoke(cli, ["parse", str(file), "--output", str(out)])
        return ran.exit_code == 0 and all(s.has_heads for s in read_conllu(out))


def by_spacy(nlp: Any, words: list[str]) -> bool:
    from spacy.tokens import Doc

    doc = Doc(nlp.vocab, words=words)
    return next(iter(nlp.pipe([doc]))).has_annotation("DEP")


WAYS: dict[str, Callable[[Any, list[str]], bool]] = {
    "Python": by_python,
    "text": by_text,
    "CoNLL-U": by_conllu,
    "spaCy": by_spacy,
}


def of_spacy() -> Any:
    """A pipe with nothing but the parser in it."""
    import spacy

    nlp = spacy.blank("en")
    nlp.add_pipe("bbparse")
    return nlp


def through(way: str, model: str, count: int) -> dict[str, Any]:
    """Seconds of each sentence by one way."""
    nlp, parse = of_spacy() if way == "spaCy" else bbparse.load(model), WAYS[way]
    parse(nlp, ["It", "works", "."])
    times, processor, failed = [], [], []
    for words in sentences(count):
        started, used = time.perf_counter(), time.process_time()
        if not parse(nlp, words):
            failed.append(" ".join(words)[:40])
        times.append(time.perf_counter() - started)
        processor.append(time.process_time() - used)
    return {
        "sentences": count,
        "mean": mean(times),
        "slowest": max(times),
        "mean_processor": mean(processor),
        "slowest_processor": max(processor),
        "slowest_short": max(t for i, t in enumerate(processor) if i % 100 != 99),
        "memory_mb": peak_memory_mb(),
        "failed": failed,
        "failures": len(failed),
    }


def requests() -> list[tuple[str, dict[str, Any]]]:
    """Requests to ``/v1/parse``, with what each is."""
    rng = random.Random(2)

    def words(count: int) -> dict[str, Any]:
        choices = ["a", "dog", "saw", "the", "cat", ","]
        return {"words": [[rng.choice(choices) for _ in range(count)]]}

    some, huge = words(6), 10**30
    constraints: dict[str, list[dict[str, Any]]] = {
        "own head": [{"heads": {"1": 1}}],
        "two heads": [{"heads": {"1": 2}}, {"heads": {"1": 3}}],
        "a circle": [{"heads": {"1": 2, "2": 1}}],
        "no such sentence": [{"sentence": 99, "heads": {"1": 2}}],
        "no such word": [{"heads": {"99": 2}}],
        "30 digits": [{"heads": {"1": huge}}],
        "an arc of 30 digits": [{"forbid": [[huge, 1]]}],
        "a factor of own heads": [{"factors": [{"arcs": [[1, 1], [2, 2]], "weight": 1e300}]}],
        "a factor of one arc twice": [{"factors": [{"arcs": [[1, 2], [1, 2]]}]}],
    }
    return [
        *((name, {**some, "constraints": given}) for name, given in constraints.items()),
        *((name, {**some, name: huge}) for name in ("k_best", "prune", "node_limit", "sentence")),
        ("1,000 trees of 1,000 words", {**words(1000), "k_best": 1000}),
        ("200 trees of 1,000 words", {**words(1000), "k_best": 200}),
        ("1,000 trees of 200 words", {**words(200), "k_best": 1000}),
        ("500 trees of equal words", {"words": [["dog"] * 400], "k_best": 500}),
        ("drawings of 100 trees", {**words(1000), "k_best": 100, "drawings": True}),
        ("all heads of 60 words", {**words(60), "prune": 0}),
        ("all heads of 1,000 words", {**words(1000), "prune": 0}),
        ("5,000 sentences", {"words": words(30)["words"] * 5000}),
    ]


def over_http(model: str) -> dict[str, Any]:
    """Status and seconds of each request; workers that died of them."""
    with serving(model, "--workers", "1") as service:
        url = f"http://127.0.0.1:{service.port}"
        rows = {}
        for name, body in requests():
            data = json.dumps({"deadline": 1.0, **body}).encode()
            kind = {"Content-Type": "application/json"}
            started = time.perf_counter()
            status, _ = answered(Request(f"{url}/v1/parse", data, kind))
            rows[name] = {"status": status, "seconds": time.perf_counter() - started}
    return {"requests": rows, "deaths": sum(row["status"] == 500 for row in rows.values())}


SLIP = "1\tBirds\t_\tNOUN\t_\t_\t0\troot\t_\t_\n2\tsing\t_\tVERB\t_\t_\t0\troot\t_\t_\n\n"
#: What a command would do → the command line, and the status that it should end with.
COMMANDS = {
    "report over the input": ("repair d -o r --report d", 2),
    "report over a link to the input": ("repair d -o r --report link", 2),
    "model over the treebank": ("train d --model d", 2),
    "output over the input, on purpose": ("parse d -o d", 0),
    "no standard error": ("parse d -o p 2>&-", 0),
    "one line of 1 GB in a .gz": ("check line.gz", 2),
    "20,000 words in a sentence": ("parse long -o p --time-limit 2", 2),
    "two trees of 1,000 words and all arcs": ("solve dense.npz --k-best 2 --time-limit 1", 2),
    "a blank FORM": ("check blank", 2),
    "two roots, which the official scorer refuses": ("evaluate d d", 0),
    "files with other words": ("combine d other", 2),
    "an example that keeps its rule": ("rules --valid keeps.toml", 2),
    "a misspelt key of a configuration": ("train d --config c.toml --model m", 2),
}
#: The same for acts on the annotation page.
ACTS: dict[str, tuple[dict[str, Any], int]] = {
    "tree -1 accepted": ({"kind": "accept", "tree": -1}, 422),
    "a tag with NUL": ({"kind": "cell", "column": "upos", "word": 1, "value": "A\0"}, 422),
    "a tag with blanks": ({"kind": "cell", "column": "upos", "word": 1, "value": "A B"}, 422),
    "a tag of 300,000 characters": (
        {"kind": "cell", "column": "upos", "word": 1, "value": "A" * 300_000},
        422,
    ),
    "a word that is its own head": ({"kind": "fix", "word": 1, "head": 1}, 422),
    "a head of 30 digits": ({"kind": "fix", "word": 1, "head": 10**30}, 422),
}


def commands() -> dict[str, dict[str, Any]]:
    """Status, seconds, memory and errors of each command and act."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        files = {
            "d": SLIP,
            "other": SLIP.replace("Birds", "Dogs"),
            "blank": SLIP.replace("sing", " "),
            "keeps.toml": '[[rule]]\nname = "a"\narc = "label=det"\nexample = "a/X/0/root"\n',
            "c.toml": "[learning]\nepoks = 1\n",
            "long": "".join(f"{i}\ta{i % 99}\t_\tX" + "\t_" * 6 + "\n" for i in range(1, 20_001)),
        }
        for name, text in files.items():
            (place / name).write_text(text + "\n" * (name == "long"))
        (place / "link").symlink_to("d")
        bbparse.Problem.from_arc_scores(np.zeros((1001, 1001))).save(place / "dense.npz")
        with gzip.open(place / "line.gz", "wb", compresslevel=1) as stream:
            for _ in range(1000):
                stream.write(b"a" * 1_000_000)
        rows = {}
        for name, (line, expected) in COMMANDS.items():
            shell = f"exec {sys.executable} -m bbparse {line}"
            with open(place / "err", "w+") as err:
                started, before = time.perf_counter(), (place / "d").read_bytes()
                process = subprocess.Popen(
                    ["sh", "-c", shell], cwd=place, stdout=subprocess.DEVNULL, stderr=err
                )
                _, status, used = os.wait4(process.pid, 0)
                seconds = time.perf_counter() - started
                process.returncode = os.waitstatus_to_exitcode(status)
                err.seek(0)
                text = err.read()
            lost = expected == 2 and (place / "d").read_bytes() != before
            rows[name] = {
                "status": process.returncode,
                "expected": expected,
                "seconds": seconds,
                "memory_mb": used.ru_maxrss / 1024,
                "bad": process.returncode != expected or lost or "Traceback" in text,
            }
        (place / "a").write_text("1\tBirds" + "\t_" * 8 + "\n2\tsing" + "\t_" * 8 + "\n\n")
        page = subprocess.Popen(
            [sys.executable, "-m", "bbparse", "annotate", "a", "--port", "0"],
            cwd=place,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert page.stderr is not None
        url = next(line for line in page.stderr if " on http" in line).split()[-1]
        for name, (act, expected) in ACTS.items():
            started = time.perf_counter()
            data = json.dumps({"revision": 0, **act}).encode()
            kind = {"Content-Type": "application/json"}
            code, _ = answered(Request(f"{url}api/sentences/1", data, kind))
            seconds = time.perf_counter() - started
            rows[name] = {
                "status": code,
                "expected": expected,
                "seconds": seconds,
                "bad": code != expected,
            }
        page.terminate()
        page.wait()
    return rows


def answered(request: Request) -> tuple[int, bytes]:
    """Status and body of an answer."""
    try:
        with urlopen(request) as answer:
            return answer.status, answer.read()
    except HTTPError as error:
        return error.code, error.read()


def main() -> None:
    """Measure and write the result."""
    given = arguments(__doc__, "model", sentences=1000, way=(None, *WAYS, "commands"))
    if given.way:
        is_acts = given.way == "commands"
        found = commands() if is_acts else through(given.way, given.model, given.sentences)
        print(json.dumps(found))
        return
    rows = {}
    for way in WAYS:
        command = [sys.executable, __file__, given.model, "--sentences", str(given.sentences)]
        rows[way] = json.loads(subprocess.check_output([*command, "--way", way]))  # own memory
        print(way, rows[way], flush=True)
    text = markdown(
        "entry point",
        rows.items(),
        """
        sentences {sentences:,} | mean, s {mean:.3f} | slowest, s {slowest:.2f}
        | processor time: mean, s {mean_processor:.3f} | slowest {slowest_processor:.2f}
        | up to 120 words {slowest_short:.2f} | memory, MB {memory_mb:.0f}
        | without tree or bound {failures}""",
    )
    service = over_http(given.model)
    print(service, flush=True)
    requests = service["requests"].items()
    text += "\n" + markdown("request", requests, "status {status} | s {seconds:.2f}")
    text += f"\nWorkers that died: {service['deaths']:.0f}.\n"
    acts = commands()
    form = "status {status} | s {seconds:.2f} | memory, MB {memory_mb:.0f}"
    text += "\n" + markdown("command or act", acts.items(), form)
    text += f"\nNot as they should: {sum(row['bad'] for row in acts.values())}.\n"
    write_result("hostile", {"rows": rows, "service": service, "commands": acts}, text)


if __name__ == "__main__":
    main()
