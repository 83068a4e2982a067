"""Batches of texts as data frames, in pandas itself and in engines that call a function on them."""

from __future__ import annotations

import pickle
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import bbparse
from bbparse.runtime.errors import BBParseError, ModelError
from bbparse.treebank import format_sentence
from tests import toy

pandas = pytest.importorskip("pandas")
Function = Callable[[Any], Any]


@pytest.fixture(scope="module")
def reads_conllu(model: Path) -> Function:
    return bbparse.mapper(model, "trees", split=None, output="parsed")


def texts() -> list[str]:
    """Of one, two and three sentences."""
    some = [format_sentence(sentence) for sentence in toy.dev_sentences()[:6]]
    return [some[0], some[1] + some[2], "".join(some[3:])]


def expected() -> list[str]:
    found = toy.parser().parse_all(toy.dev_sentences()[:6])
    trees = [
        format_sentence(one.sentence, one.trees[0].heads, one.trees[0].labels) for one in found
    ]
    return [trees[0], trees[1] + trees[2], "".join(trees[3:])]


def test_rows_stay_what_they_are(reads_conllu: Function) -> None:
    one, two, three = texts()
    broken = two + "1\tone\n\n"
    frame = pandas.DataFrame(
        {"id": [7, 8, 9, 10, 11], "trees": [one, broken, None, two, three]}, index=[4, 3, 2, 1, 0]
    )
    found = reads_conllu(frame)
    assert list(found.columns) == ["id", "trees", "parsed", "error"]
    assert list(found.index) == [4, 3, 2, 1, 0] and list(found.id) == [7, 8, 9, 10, 11]
    a, b, c = expected()
    assert list(found.parsed.fillna("-")) == [a, "-", "-", b, c]
    assert list(found.error.isna()) == [True, False, True, True, True]
    assert "expected 10 columns, found 2" in found.error[3]
    assert list(frame.columns) == ["id", "trees"]
    # empty ones have their columns, too, and need no model
    assert list(reads_conllu(frame[:0]).columns) == list(found.columns)
    with pytest.raises(BBParseError, match="no column 'trees', its columns are id"):
        reads_conllu(frame[["id"]])


def test_it_goes_elsewhere_with_its_model(
    reads_conllu: Function, model: Path, tmp_path: Path
) -> None:
    gone = tmp_path / "gone.model"
    shutil.copy(model, gone)
    function = bbparse.mapper(gone, "trees", split=None, output="parsed")
    gone.unlink()
    there = pickle.loads(pickle.dumps(function))
    frames = iter([pandas.DataFrame({"trees": [text]}) for text in texts()])
    found = there(frames)
    assert isinstance(found, Iterator)
    assert [frame.parsed[0] for frame in found] == expected()
    with pytest.raises(ModelError, match="no such file"):
        bbparse.mapper(gone)


def test_text(model: Path) -> None:
    nlp = bbparse.load()
    frame = pandas.DataFrame({"body": ["Time flies. Fruit flies, too.", ""]})
    found = bbparse.mapper(column="body", format_name="jsonl")(frame)
    assert found.conllu[0].count("\n") == len(nlp("Time flies. Fruit flies, too.")) == 2
    assert found.error.isna().all() and found.conllu[1] == ""
    # a model without a tokenizer says so of each
    found = bbparse.mapper(model, column="body")(frame)
    assert "the model has no tokenizer" in found.error[0]


@pytest.fixture
def example(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], list[str]]:
    """Runs the example of an engine that is in the documentation, on other texts."""
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    frame = pandas.DataFrame({"id": [1, 2, 3], "text": texts()})
    frame.to_parquet("texts.parquet")
    page = (Path(toy.__file__).parents[1] / "docs/howto/corpora.md").read_text(encoding="utf-8")

    def run(engine: str) -> list[str]:
        begins = re.compile(rf"text\n(import|from) {engine}\b")
        (code,) = filter(begins.match, page.split("```"))
        other = code.replace('mapper("english")', f"mapper({str(model)!r}, split=None)")
        assert other != code
        exec(other.removeprefix("text\n"), {})
        found = pandas.concat(map(pandas.read_parquet, Path("trees").glob("*.parquet")))
        assert found.error.isna().all()
        return list(found.sort_values("id").conllu)

    return run


def test_dask(example: Callable[[str], list[str]]) -> None:
    pytest.importorskip("dask.dataframe")
    assert example("dask") == expected()


def test_spark(
    example: Callable[[str], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    sql = pytest.importorskip("pyspark.sql")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    builder = sql.SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    spark = builder.getOrCreate()  # the example takes what there is
    try:
        assert example("pyspark") == expected()
    finally:
        spark.stop()


def test_ray(example: Callable[[str], list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    ray = pytest.importorskip("ray")
    pytest.importorskip("ray.data")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("RAY_worker_niceness", "0")
    ray.init(num_cpus=1, include_dashboard=False, object_store_memory=100 << 20)
    try:
        assert example("ray") == expected()
    finally:
        ray.shutdown()
