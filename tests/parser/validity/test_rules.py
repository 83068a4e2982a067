"""Rules: their files, and what they say of trees."""

from __future__ import annotations

from pathlib import Path

import pytest

from bbparse.parser.validity.check import RuledSentence
from bbparse.parser.validity.conditions import ArcCondition
from bbparse.parser.validity.rules import Rule, Rules, example_of
from bbparse.runtime.errors import ConfigError
from bbparse.treebank import Sentence, read_conllu

UD, PARALLEL = map(Rules.load, ("ud", "parallel"))


@pytest.mark.parametrize("rule", UD.rules, ids=lambda rule: rule.name)
def test_examples_break_their_rule_only(rule: Rule) -> None:
    found = {fault.name for fault in UD.faults(example_of(rule))}
    also = {"goeswith-gap"} if rule.name == "right-to-left-goeswith" else set()
    also |= {"right-to-left-goeswith"} if rule.name == "goeswith-gap" else set()
    assert rule.name in found
    assert found <= {rule.name} | also
    s = example_of(rule)
    assert RuledSentence(Rules([rule]), s).faults(s.heads, s.deprels)
    assert rule.says and rule.source


@pytest.mark.parametrize("rule", PARALLEL.rules, ids=lambda rule: rule.name)
def test_examples_of_parallel_coordination(rule: Rule) -> None:
    assert {fault.name for fault in PARALLEL.faults(example_of(rule))} == {rule.name}
    assert {fault.name for fault in UD.faults(example_of(rule))} <= {"orphan-parent"}
    assert rule.says and rule.source


def official(path: Path) -> set[tuple[str, int]]:
    """(rule, line) of what the official validator reports of our rules."""
    validator = pytest.importorskip("udtools").Validator(lang="ud", level=3, output=None)
    names = {rule.name for rule in UD.rules} | {"punct-causes-nonproj"}
    return {
        (i.testid.replace("punct-causes-nonproj", "punct-is-nonproj"), int(i.lineno))
        for i in validator.validate_files([str(path)]).error_tracker
        if i.level == 3 and i.testid in names
    }


def ours(path: Path) -> set[tuple[str, int]]:
    return {
        (fault.name, s.line_number + s.word_lines[fault.word - 1])
        for s in read_conllu(path)
        for fault in UD.faults(s)
    }


def test_same_faults_as_the_official_validator(tmp_path: Path) -> None:
    """In examples, and in trees whose heads and labels were thrown about."""
    import numpy as np

    rng = np.random.default_rng(3)
    sentences = [example_of(rule) for rule in UD.rules]
    data = Path(__file__).parents[2] / "data" / "small-dev.conllu"
    for s in [*read_conllu(data)][:60]:
        heads, labels = [*s.heads], [*s.deprels]
        for m in rng.integers(1, s.n_words + 1, 3).tolist():
            if not heads[m - 1]:
                continue
            labels[m - 1] = str(
                rng.choice(
                    [
                        "nsubj",
                        "obj",
                        "punct",
                        "fixed",
                        "goeswith",
                        "flat",
                        "case",
                        "det",
                        "conj",
                        "obl",
                        "cc",
                        "aux",
                        "orphan",
                        "advmod",
                        "csubj:outer",
                        "mark",
                        "expl",
                    ]
                )
            )
            at = int(rng.integers(1, s.n_words + 1))
            if not below(heads, at, m):
                heads[m - 1] = at
        columns = {"upos": s.upos, "xpos": s.xpos, "lemmas": s.lemmas, "feats": s.feats}
        sentences.append(
            Sentence.from_words(s.forms, heads=heads, deprels=labels, name=s.name, **columns)
        )
    path = tmp_path / "broken.conllu"
    path.write_text("".join("\n".join(s.lines) + "\n\n" for s in sentences), "utf-8")
    found = ours(path)
    assert found == official(path)
    assert len(found) > 100 and len({name for name, _ in found}) > 20


def below(heads: list[int], word: int, head: int) -> bool:
    """Whether a word hangs from a head, or is it."""
    while word not in (0, head):
        word = heads[word - 1]
    return word == head


def test_misc_and_features() -> None:
    def names(*lines: str) -> list[str]:
        rows = [line.split() for line in lines]
        s = Sentence.from_words(
            [r[0] for r in rows],
            upos=[r[1] for r in rows],
            heads=[int(r[2]) for r in rows],
            deprels=[r[3] for r in rows],
            feats=[r[4] for r in rows],
        )
        for i, row in enumerate(rows):
            s.lines[i] = s.lines[i].rpartition("\t")[0] + "\t" + row[5]
        return [fault.name for fault in UD.faults(s)]

    inner = "he PRON 3 nsubj _ _"
    said = "said VERB 0 root _ _"
    assert names("This PRON 3 nsubj _ _", inner, said) == ["too-many-subjects"]
    assert not names("This PRON 3 nsubj _ A=b|Subject=Outer", inner, said)
    assert not names("This PRON 3 nsubj:outer _ _", inner, said)
    assert names("of ADP 2 nummod A=b|ExtPos=NUM _", "men NOUN 0 root _ _") == []
    assert names("of ADP 2 nummod ExtPos=X|Z=z _", "men NOUN 0 root _ _") == ["rel-upos-nummod"]


def test_rules_in_python() -> None:
    rules = UD + Rules([Rule("no-shouting", (ArcCondition.parse("label=discourse mod.form=OH"),))])
    s = Sentence.from_words(["OH", "no"], heads=[2, 0], deprels=["discourse", "root"])
    (fault,) = rules.faults(s)
    assert fault[:3] == ("no-shouting", 1, (1,))
    assert fault.text(s, s.heads, s.deprels) == "no-shouting: word 1: no -discourse-> OH"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[rule]]\nname = 'x'\narc = 'label=nonsense'", "line 3: arc: 'label=nonsense' has"),
        ("[[rule]]\nname = 'x'\narc = 'mod.upos=NOUNS'", "line 3: arc: 'mod.upos=NOUNS' has"),
        ("[[rule]]\nname = 'x'\narc = 'side=up'", "expected one of left, right"),
        ("[[rule]]\nname = 'x'\narc = 'lable=obj'", "line 3: arc: found 'lable=obj'"),
        ("[[rule]]\nname = 'x'\narc = 'label='", "expected"),
        ("[[rule]]\nname = 'x'\n", "line 1: the rule has no arc"),
        ("[[rule]]\narc = 'label=obj'\n", "line 1: the rule has no name"),
        ("[[rule]]\nname = 'x'\narc = 3", "line 3: arc is 3, expected a text"),
        ("[[rule]]\nname = 'x'\narc = 'label=obj'\nwarning = 1", "line 4: warning is 1"),
        ("[[rule]]\nname = 'x'\narc = 'label=obj'\nat = 'tail'", "line 4: at is 'tail'"),
        ("[[rule]]\nname='x'\narc='side=left'\nbelow=''\nbeside=''", "line 5: found below"),
        ("[[rule]]\nname='x'\narc='label=obj'\n[[rule]]\nnme='x'\narc=''", "line 5: unknown key"),
        ("[[rule]]\nname='x'\narc='label=obj'\nexample='a/b'", "line 4: found 'a/b', expected"),
        (
            "[[rule]]\nname='x'\narc='label=obj'\nexample='a/X/0/root'",
            "line 4: the example does not break the rule",
        ),
        ("[rule]\nname = 'x'", "line 1: found 'rule', expected [[rule]]"),
        ("label = 'x'\n", "line 1: found 'label', expected [[rule]]"),
        ("", "found no rule"),
        ("[[rule]\n", "line 1"),
    ],
)
def test_malformed_files(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        Rules.load(str(path))
    assert str(caught.value).startswith(str(path)) and message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_own_relations_and_tags(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        "relations = ['SBJ']\nupos = ['N']\n[[rule]]\nname = 'x'\narc = 'label=SBJ mod.upos=N'\n"
    )
    s = Sentence.from_words(["a"], upos=["N"], heads=[0], deprels=["SBJ"])
    assert [fault.name for fault in Rules.load(str(path)).faults(s)] == ["x"]
