"""Compare other parsers' decoders with exact decoding of their scores.

    python bench/other_parsers.py stanza NAME=MODEL.pt,DEV.conllu … [--sentences N]
    python bench/other_parsers.py supar NAME=MODEL,DEV.conllu … [--sentences N]

stanza: its arborescence, its greedy repair of words with several subjects or objects, and exact
labelled decoding without rules, with the repair's rules and with UD's: changed trees, faults, sum
of log-probabilities, accuracy, and processor time per sentence, in turns. supar: how often its
decoder misses the best tree with one root, and by how much. Tags are those of DEV; train the models
with their own parsers.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from measure import arguments, markdown, result, turns, write_result

from bbparse.adapters import SentenceScores, decode
from bbparse.adapters import stanza as stanza_adapter
from bbparse.adapters import supar as supar_adapter
from bbparse.parser.validity.conditions import RELATIONS, ArcCondition, Rule
from bbparse.parser.validity.rules import Rules
from bbparse.treebank import Sentence, read_conllu

#: The three groups of labels of Stanza's repair, of each of which a word has one at most.
GREEDY = (
    "label=nsubj|csubj label!=nsubj:outer|csubj:outer",
    "label=nsubj:outer|csubj:outer",
    "label=obj",
)
Tree = tuple[tuple[int, ...], tuple[str, ...]]


def predictions(path: str, dev: str) -> tuple[list[Any], Any]:
    """(arc, label log-probabilities) of each sentence by a model of Stanza, and its labels."""
    import torch
    from stanza.models.common.utils import unsort
    from stanza.models.depparse.data import DataLoader
    from stanza.models.depparse.trainer import Trainer, unpack_batch
    from stanza.utils.conll import CoNLL

    trainer = Trainer.load(path, pretrain=None, device="cpu")
    trainer.model.eval()
    batch = DataLoader(
        CoNLL.conll2doc(dev),
        1000,
        trainer.args,
        None,
        vocab=trainer.vocab,
        evaluation=True,
        sort_during_eval=True,
    )
    found = []
    with torch.no_grad():
        for part in batch:
            inputs, order, word_order, sentlens, wordlens, text = unpack_batch(part, "cpu")
            _, preds = trainer.model(*inputs, word_order, sentlens, wordlens, text)
            cut = [
                (arcs[:n, :n].copy(), best[:n, :n].copy(), labels[:n, :n].copy())
                for arcs, best, labels, n in zip(*preds, sentlens)
            ]
            found += unsort(cut, order)
    return unsort(found, batch.data_orig_idx), trainer.vocab["deprel"]


def stanza_ways(vocab: Any, groups: Rules) -> dict[str, Callable[..., Tree]]:
    """Ways to a tree from arcs, best labels, label scores, their record, and the words."""
    from stanza.models.common.chuliu_edmonds import chuliu_edmonds_one_root
    from stanza.models.common.vocab import VOCAB_PREFIX_SIZE
    from stanza.models.depparse.head_constraints import resolve_head_constraint_violations

    def plain(arcs: Any, best: Any, labels: Any, *_: Any) -> Tree:
        heads = chuliu_edmonds_one_root(arcs)[1:].tolist()
        return (*heads,), tuple(vocab.unmap([best[d, h] for d, h in enumerate(heads, start=1)]))

    def repaired(arcs: Any, best: Any, labels: Any, *_: Any) -> Tree:
        tree = chuliu_edmonds_one_root(arcs)
        tree, numbers = resolve_head_constraint_violations(arcs, labels, tree, vocab)
        return (*tree[1:].tolist(),), tuple(vocab.unmap([r + VOCAB_PREFIX_SIZE for r in numbers]))

    def exactly(valid: Any, joint: bool) -> Callable[..., Tree]:

        def decoded(arcs: Any, best: Any, labels: Any, words: Sentence) -> Tree:
            one = [x[None] for x in (arcs, best, labels)]
            (scores,) = stanza_adapter.scores(one, [len(arcs)], vocab)
            (tree,) = decode(scores, words, valid=valid, projective=False, joint=joint)
            assert tree.proved
            return tree.heads, tree.labels

        return decoded

    return {
        "Stanza without repair": plain,
        "Stanza's greedy repair": repaired,
        "exact, no rules": exactly(None, True),
        "exact, rules of the repair": exactly(groups, True),
        "exact, UD's rules": exactly("ud", True),
        "exact, UD's rules, arcs first": exactly("ud", False),
    }


def stanza_table(path: str, dev: str, count: int | None) -> dict[str, Any]:
    """What each way finds, on one model."""
    found, vocab = predictions(path, dev)
    gold = list(read_conllu(dev))[:count]
    rules = Rules.load("ud").binding
    groups = Rules(
        [
            Rule(text, (condition,), "beside", (condition,))
            for text, condition in zip(GREEDY, map(ArcCondition.parse, GREEDY))
        ],
        RELATIONS,
    )
    ways = stanza_ways(vocab, groups)
    names = vocab.unmap(range(len(vocab) - found[0][2].shape[-1], len(vocab)))
    for sentence, preds in list(zip(gold, found))[:20]:  # compiles and fills tables
        for way in ways.values():
            way(*preds, sentence)
    counts = ("faults", "faulty", "groups", "score", "las", "uas", "seconds")
    rows = {name: {**dict.fromkeys(counts, 0), "trees": []} for name in ways}
    for sentence, preds in zip(gold, found):
        calls = {name: functools.partial(way, *preds, sentence) for name, way in ways.items()}
        for name, (heads, labels), seconds in turns(calls, 1, time.process_time):
            row = rows[name]
            row["seconds"] += seconds
            parsed = replace(sentence, heads=[*heads], deprels=[*labels])
            faults = rules.faults(parsed)
            row["faults"] += len(faults)
            row["faulty"] += bool(faults)
            row["groups"] += len(groups.faults(parsed))
            row["score"] += sum(
                float(preds[0][d, h]) + float(preds[2][d, h, names.index(r)])
                for d, (h, r) in enumerate(zip(heads, labels), start=1)
            )
            right = [h == x for h, x in zip(heads, sentence.heads)]
            row["uas"] += sum(right)
            row["las"] += sum(
                good and a.partition(":")[0] == b.partition(":")[0]
                for good, a, b in zip(right, labels, sentence.deprels)
            )
            row["trees"].append((heads, labels))
    plain = rows["Stanza without repair"]["trees"]
    for row in rows.values():
        row["changed"] = sum(a != b for a, b in zip(row.pop("trees"), plain))
    n_words = sum(sentence.n_words for sentence in gold)
    return {"sentences": len(gold), "words": n_words, "rows": rows}


def supar_table(path: str, dev: str, count: int | None) -> dict[str, Any]:
    """How often SuPar's decoder misses the best tree of its own scores, projective or not."""
    import torch

    torch.load = functools.partial(torch.load, weights_only=False)
    import supar

    parser = supar.Parser.load(path)
    parser.transform.eval()
    dataset = supar.utils.Dataset(parser.transform, dev)
    dataset.sentences = dataset.sentences[:count]
    dataset.build(1000, 8)
    parser.model.eval()
    second = type(parser.model).__name__ == "CRF2oDependencyModel"
    first_kinds = {"projective": (True, False), "crossing": (False, False)}
    second_kinds = {"projective, scores": (True, False), "projective, marginals": (True, True)}
    rows = {}
    for kind, (proj, mbr) in (second_kinds if second else first_kinds).items():
        rows[kind] = row = {"trees": 0, "missed": 0, "loss": 0.0, "largest": 0.0}
        with torch.no_grad():
            for batch in dataset.loader:
                words, _, *feats = batch
                mask = words.ne(parser.args.pad_index)
                mask[:, 0] = False
                s_arc, *s_sib, s_rel = parser.model(words, feats)
                scores = supar_adapter.scores(s_arc, s_rel, mask, parser.REL.vocab, *s_sib)
                given = s_arc.clone()
                if mbr:
                    given = supar.structs.Dependency2oCRF((s_arc, *s_sib), mask.sum(-1)).marginals
                options = (mask, True, mbr, proj) if second else (mask, True, proj)
                arcs, _ = parser.model.decode(given, *s_sib, s_rel, *options)
                for one, heads in zip(scores, arcs.tolist()):
                    compare(one, heads[1 : one.n_words + 1], proj, row)
    return {"sentences": len(dataset.sentences), "model": type(parser.model).__name__, "rows": rows}


def compare(scores: SentenceScores, heads: list[int], proj: bool, row: dict[str, Any]) -> None:
    """Count a tree of SuPar that scores less than the best one, beyond single precision."""
    bare = SentenceScores(scores.arcs, siblings=scores.siblings)
    (tree,) = decode(bare, projective=proj)
    assert tree.proved
    theirs = bare.problem(projective=proj).score([0, *heads])
    row["trees"] += 1
    if tree.score - theirs > 1e-3:
        row["missed"] += 1
        row["loss"] += tree.score - theirs
        row["largest"] = max(row["largest"], tree.score - theirs)


def tables(result: dict[str, Any]) -> str:
    """The tables of all models."""
    text = ""
    for name, one in result["stanza"].items():
        n, words = one["sentences"], one["words"]
        rows = {
            way: {
                **row,
                "las": row["las"] / words,
                "uas": row["uas"] / words,
                "ms": 1000 * row["seconds"] / n,
            }
            for way, row in one["rows"].items()
        }
        text += f"Stanza, {name}: {n:,} sentences, {words:,} words\n\n"
        text += (
            markdown(
                "decoder",
                rows.items(),
                """
            changed {changed:,} | violations {faults:,} | in sentences {faulty:,}
            | of the repair's rules {groups:,} | score {score:,.1f} | LAS {las:.2p}
            | UAS {uas:.2p} | ms {ms:.2f}""",
            )
            + "\n"
        )
    found = [
        (f"{name}, {kind}", {**row, "mean": row["loss"] / max(1, row["missed"])})
        for name, one in result["supar"].items()
        for kind, row in one["rows"].items()
    ]
    return text + markdown(
        "SuPar",
        found,
        """
        trees {trees:,} | missed {missed:,} | mean loss {mean:.2f} | largest loss {largest:.2f}""",
    )


def main() -> None:
    args = arguments(__doc__, "kind", "models+", sentences=int)
    found = {kind: result("other_parsers").get(kind, {}) for kind in ("stanza", "supar")}
    for text in args.models:
        name, _, files = text.partition("=")
        model, _, dev = files.rpartition(",")
        run = {"stanza": stanza_table, "supar": supar_table}[args.kind]
        found[args.kind][name] = run(model, dev, args.sentences)
    write_result("other_parsers", found, tables(found), ["torch", "stanza", "supar"])


if __name__ == "__main__":
    main()
