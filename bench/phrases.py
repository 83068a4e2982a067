"""Phrase structure: agreement, accuracy and speed of the grammar alone and with other models.

    python bench/phrases.py MODEL GOLD.ptb [--every N] [--longest N]

Redoes Tables 1-3 and Figure 5 of Rush, Sontag, Collins & Jaakkola (2010) for a model of
``bbparse train-phrases`` and writes JSON and Markdown to bench/results.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from bbparse.phrases.evaluation import BracketScores, compare_trees, paired_p
from bbparse.phrases.heads import default_rules, to_phrase
from bbparse.phrases.model import load_phrases
from bbparse.phrases.parser import WITH, PhraseParser
from bbparse.phrases.training import read_treebank
from bbparse.phrases.trees import PhraseTree

RESULTS = Path(__file__).parent / "results"
CALLS = (1, 3, 10, 20, 50)


def measure(
    parser: PhraseParser, trees: list[PhraseTree], use: str, gold_tags: bool = False
) -> tuple[dict[str, Any], BracketScores]:
    """One row of the tables."""
    rules = default_rules()
    calls = dict.fromkeys([f"≤{c}" for c in CALLS] + ["more"], 0)
    proved = branched = nodes = fallback = right = words = 0
    pairs = []
    parser.parse(trees[0].words, use=use)  # compile
    start = time.process_time()
    for tree in trees:
        found = parser.parse(tree.words, tree.tags if gold_tags else None, use=use)
        pairs.append((tree, found.trees[0]))
        fallback += found.fallback
        heads = to_phrase(tree, rules).heads()
        right += sum(a == b for a, b in zip(found.heads, heads))
        words += len(heads)
        if found.agreement is not None:
            a = found.agreement
            calls[next((f"≤{c}" for c in CALLS if a.root_calls <= c), "more")] += 1
            proved += a.proved
            branched += a.nodes > 1
            nodes += a.nodes
    seconds = time.process_time() - start
    scores = compare_trees(pairs)
    return {
        "with": use, "gold tags": gold_tags, "F1": scores.f1, "precision": scores.precision,
        "recall": scores.recall, "exact": scores.exact / scores.sentences,
        "tags": scores.tags / scores.words, "heads": right / words, "words/s": words / seconds,
        "calls": calls, "proved": proved / len(trees), "branched": branched, "nodes": nodes,
        "fallback": fallback,
    }, scores  # fmt: skip


def main() -> None:
    """Measure and write."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("model")
    arguments.add_argument("gold")
    arguments.add_argument("--every", type=int, default=1, help="Of so many sentences one.")
    arguments.add_argument("--longest", type=int, default=60, help="Words.")
    settings = arguments.parse_args()
    parser = load_phrases(settings.model)
    trees = [t for t in read_treebank(settings.gold) if len(t.words) <= settings.longest]
    trees = trees[:: settings.every]
    uses = WITH if parser.dependencies is not None else WITH[:2]
    rows, scores = [], {}
    for use in uses:
        row, scores[use] = measure(parser, trees, use)
        row["p against none"] = paired_p(scores[use], scores["none"])
        rows.append(row)
        print(json.dumps(row), flush=True)
    rows.append(measure(parser, trees, "none", gold_tags=True)[0])
    figure = []
    for limit in CALLS:
        few = PhraseParser(
            parser.vocabulary, parser.coarse, parser.grammar, parser.tagger, parser.dependencies,
            replace(parser.settings, root_calls=limit),
        )
        found = [few.parse(t.words, use=uses[-1], node_limit=1) for t in trees]
        figure.append(
            {
                "calls": limit,
                "F1": compare_trees([(t, f.trees[0]) for t, f in zip(trees, found)]).f1,
                "certificates": sum(f.agreement is not None and f.agreement.proved for f in found)
                / len(trees),
            }
        )
    result = {"gold": Path(settings.gold).name, "sentences": len(trees), "rows": rows,
              "limits": figure}  # fmt: skip
    (RESULTS / "phrases.json").write_text(json.dumps(result, indent=1) + "\n")
    names = ("with", "gold tags", "F1", "exact", "tags", "heads", "words/s", "proved", "branched")
    lines = [" | ".join(names), " | ".join("---" for _ in names)]
    for row in rows:
        lines.append(
            " | ".join(
                f"{row[n]:.3f}" if isinstance(row[n], float) else str(row[n]) for n in names
            )
        )
    (RESULTS / "phrases.md").write_text("\n".join(f"| {line} |" for line in lines) + "\n")


if __name__ == "__main__":
    main()
