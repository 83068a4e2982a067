"""``bbparse enhance``, ``train-graphs`` and ``parse --enhanced``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import bbparse
from bbparse.apps.explain import explain, page
from bbparse.parser.parser import Parser
from bbparse.treebank import format_sentence, read_conllu, write_conllu
from bbparse.treebank.graph import collapsed_graph, format_deps, with_deps
from tests import graphs, toy
from tests.apps.cli.conftest import Run


@pytest.fixture(scope="module")
def train(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("graphs") / "train.conllu"
    write_conllu(path, graphs.sentences(1, 300))
    return path


@pytest.fixture
def model(run: Run, train: Path, tmp_path: Path) -> Path:
    """A parser with graphs."""
    plain, path = tmp_path / "plain.model", tmp_path / "graphs.model"
    toy.parser().save(plain)
    done = run("train-graphs", train, "--model", plain, "--output", path)
    assert done.code == 0, done.err
    return path


def test_graphs_are_made_anew(run: Run, model: Path, tmp_path: Path) -> None:
    """Old edges and empty nodes go; all else stays."""
    gold = list(graphs.sentences(2, 50))
    lines = [*gold[0].lines, f"{gold[0].n_words}.1\tx\t_\t_\t_\t_\t_\t_\t1:dep\t_"]
    stale = [with_deps(s, ["1:dep"] * s.n_words) for s in gold]
    stale[0].lines[:] = [*stale[0].lines, lines[-1]]
    source, output = tmp_path / "stale.conllu", tmp_path / "new.conllu"
    write_conllu(source, stale)
    assert run("enhance", source, "--model", model, "-o", output).code == 0
    assert output.read_text() == "".join(map(format_sentence, gold))


def test_parses_have_graphs(run: Run, model: Path) -> None:
    texts = [
        run("parse", toy.DEV, "--model", model, "--enhanced", how).out for how in ("yes", "no")
    ]
    assert texts[0] == run("parse", toy.DEV, "--model", model).out
    bare = run("parse", toy.DEV, "--model", model.with_name("plain.model")).out
    assert texts[1] == bare
    Path(model.with_name("yes.conllu")).write_text(texts[0])
    records = run("parse", toy.DEV, "--model", model, "--format", "jsonl", "--k-best", 2).out
    nlp = bbparse.load(model)
    for sentence, line in zip(
        read_conllu(model.with_name("yes.conllu")), records.splitlines(), strict=True
    ):
        edges = collapsed_graph(sentence)
        tree = nlp(sentence)[0].best
        assert sorted(tree.graph) == edges
        assert [edge for word in tree for edge in word.heads] == [edge[:2] for edge in tree.graph]
        for record in json.loads(line)["trees"]:
            assert len(record["enhanced"]) == sentence.n_words
        best = json.loads(line)["trees"][0]["enhanced"]
        columns = [sentence.lines[i].split("\t")[8] for i in sentence.word_lines]
        assert columns == [format_deps(map(tuple, edges)) for edges in best]


def test_given_heads_keep_their_graph_valid(run: Run, model: Path, tmp_path: Path) -> None:
    """Around given heads, sentences are parsed one by one."""
    source = tmp_path / "heads.conllu"
    write_conllu(source, graphs.sentences(3, 5))
    kept = run("parse", source, "--model", model, "--keep-heads").out
    assert kept == run("enhance", source, "--model", model).out


def test_errors(run: Run, model: Path, train: Path, tmp_path: Path) -> None:
    plain = model.with_name("plain.model")
    for arguments, message in (
        (("parse", toy.DEV, "--model", plain, "--enhanced", "yes"), "makes no enhanced graphs"),
        (("parse", toy.DEV, "--model", model, "--edges", "Edge"), "no word has Edge= in MISC"),
        (("enhance", toy.DEV, "--model", plain), "the model makes no enhanced graphs: train it on"),
        (
            ("train-graphs", toy.DEV, "--model", plain, "--output", tmp_path / "no.model"),
            "small-dev.conllu: found no graphs, expected DEPS that differ from the trees",
        ),
    ):
        assert message in run(*arguments).complaint(alone=False)
    assert not (tmp_path / "no.model").exists()


def test_training_learns_graphs(run: Run, train: Path, tmp_path: Path) -> None:
    config = tmp_path / "toy.toml"
    config.write_text(toy.TOML)
    path = tmp_path / "new.model"
    arguments = ("--config", config, "--model", path, "--no-text", "--epochs", 1)
    done = run("train", train, *arguments)
    assert "enhanced graphs learned: " in done.err
    entries = json.loads(run("model", path, "--json").out)
    assert entries["enhanced"]["control"] > 50
    assert run("enhance", train, "--model", path).out == train.read_text()


def test_pages_and_pictures_show_new_edges(model: Path) -> None:
    """Dashed, below the words: as many as the graph has edges that are no arcs."""
    parser = Parser.load(model)
    seen = 0
    for sentence in toy.dev_sentences():
        tree = parser(sentence, valid="none")[0].best
        new = sum(head != tree.heads[m - 1] for head, _, m in tree.graph)
        assert tree.to_svg(graph=True).count('"bbp-arc theirs"') == new
        assert "theirs" not in tree.to_svg().partition("</style>")[2]
        if new and not seen:
            text = page(explain(parser, sentence), model="toy.model")
            assert text.count('"bbp-arc theirs"') == new
        seen += new
    assert seen
