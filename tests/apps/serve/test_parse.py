"""``/v1/parse`` and ``/v1/explain``: the same trees as in this process, in all ways to ask."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from bbparse.treebank import format_sentence
from bbparse.treebank.drawing.formats import json_line
from tests import toy
from tests.apps.serve.conftest import Running

TEXT = "The cat slept. A dog saw the small cat near the stove! She did not."
WORDS = [["The", "DET"], ["small", "ADJ"], ["cat", "NOUN"], ["slept", "VERB"], [".", "PUNCT"]]


JSON, NUMBERS = "application/json", ("k_best", "prune", "node_limit", "sentence")


def under(*constraints: dict[str, Any]) -> bytes:
    """A request for a tree under constraints."""
    return json.dumps({"words": [WORDS], "constraints": constraints}).encode()


def expected(text: Any = TEXT, **options: Any) -> str:
    found = toy.reader()(text, **options)
    return "".join(json_line(one.sentence, one.trees, one.status) for one in found)


def test_text(service: Running) -> None:
    found = service.text(TEXT)
    assert (found.status, found.headers["content-type"]) == (
        200,
        "application/x-ndjson; charset=utf-8",
    )
    assert found.text == expected()
    assert service.text(TEXT, "k_best=3&valid=none").text == expected(k_best=3, valid="none")
    assert service.text(TEXT, "split=lines").text == expected(split="lines")
    drawn = service.text(TEXT, "format=tree").text
    assert drawn.count("●") == 3


def test_conllu_comes_back_as_it_was(service: Running) -> None:
    sentences = toy.dev_sentences()
    body = "".join(format_sentence(s, last=False) for s in sentences)
    found = service.ask("/v1/parse?format=conllu", body.encode(), "text/x-conllu").text
    assert found == toy.reader()(sentences).to_conllu().rstrip("\n") + "\n\n"


def test_json(service: Running) -> None:
    assert service.ask("/v1/parse", {"text": TEXT, "k_best": 2}).text == expected(k_best=2)
    assert service.ask("/v1/parse", {"words": [WORDS]}).text == expected([tuple(w) for w in WORDS])


def test_fixed_heads_and_forbidden_arcs(service: Running) -> None:
    whole = service.ask("/v1/parse", {"words": [WORDS, WORDS], "k_best": 2}).lines
    best, second = whole[0]["trees"]
    (word,) = [m for m in range(5) if best["heads"][m] != second["heads"][m]][:1]
    arc = [best["heads"][word], word + 1]
    asked: dict[str, Any] = {"words": [WORDS, WORDS], "valid": "none"}
    free = service.ask("/v1/parse", {**asked, "k_best": 2}).lines[0]["trees"]
    forbidden = [
        {
            "sentence": 2,
            "forbid": [
                [free[0]["heads"][m], m + 1]
                for m in range(5)
                if free[0]["heads"][m] != free[1]["heads"][m]
            ],
        }
    ]
    first, other = service.ask("/v1/parse", {**asked, "constraints": forbidden}).lines
    assert first["trees"][0] == free[0]
    assert other["trees"][0]["heads"] == free[1]["heads"]
    fixed = [{"heads": {str(word + 1): second["heads"][word]}, "labels": {str(word + 1): "dep"}}]
    tree = service.ask("/v1/parse", {**asked, "constraints": fixed}).lines[0]["trees"][0]
    assert tree["heads"][word] == second["heads"][word] and tree["labels"][word] == "dep"
    never = [{"factors": [{"arcs": [arc], "weight": None}]}]
    tree = service.ask("/v1/parse", {**asked, "constraints": never}).lines[0]["trees"][0]
    assert tree["heads"][word] != arc[0]
    impossible = [{"heads": {"1": 2, "2": 1}}]
    refused = service.ask("/v1/parse", {**asked, "constraints": impossible})
    assert refused.status == 400 and "all fixed heads" in refused.json["error"]
    itself = service.ask("/v1/parse", {**asked, "constraints": [{"heads": {"1": 1}}]})
    assert itself.status == 400 and "word 1 is its own head" in itself.json["error"]
    against = [{"heads": {"1": 2}, "forbid": [[2, 1]]}]
    assert "required" in service.ask("/v1/parse", {**asked, "constraints": against}).json["error"]


def test_words_that_form_a_subtree(service: Running) -> None:
    asked: dict[str, Any] = {"words": [WORDS], "valid": "none"}
    for words in ([1, 2], [2, 3, 4]):
        wanted = [{"subtrees": [{"words": words}]}]
        (found,) = service.ask("/v1/parse", {**asked, "constraints": wanted}).lines
        heads = found["trees"][0]["heads"]
        assert sum(heads[m - 1] not in words for m in words) == 1
        assert all(m in words for m, head in enumerate(heads, start=1) if head in words)
    firm = [{"subtrees": [{"words": [2, 3, 4], "weight": 1e9}]}]
    (soft,) = service.ask("/v1/parse", {**asked, "constraints": firm}).lines
    assert soft["trees"][0]["heads"] == heads
    refused = service.ask("/v1/parse", {**asked, "spans": "E:x"})
    assert refused.status == 400 and "expected KEY or KEY:WEIGHT" in refused.json["error"]
    wrong = [{"subtrees": [{"words": [9]}]}]
    assert service.ask("/v1/parse", {**asked, "constraints": wrong}).status == 400


def test_heads_of_conllu_are_kept(service: Running) -> None:
    sentence = toy.dev_sentences()[2]
    partly = replace(sentence, heads=[-1] * (sentence.n_words - 1) + [1])
    body = format_sentence(partly, partly.heads)
    for keep, status in (("true", 200), ("false", 200)):
        found = service.ask(f"/v1/parse?keep_heads={keep}", body.encode(), "text/x-conllu")
        assert found.status == status
        assert (found.lines[0]["trees"][0]["heads"][-1] == 1) == (keep == "true")


def test_drawings(service: Running) -> None:
    record = service.ask("/v1/parse", {"text": "<b> slept.", "drawings": True, "k_best": 2}).lines
    tree = record[0]["trees"][0]
    assert tree["svg"].startswith("<svg") and "<b>" not in tree["svg"]
    assert tree["conllu"].startswith("# newpar\n# sent_id = 1\n# text = <b> slept.\n1\t")
    assert tree["svg"].count("data-mod=") == len(tree["heads"])


def test_limits_of_time_give_trees_with_bounds(service: Running) -> None:
    for query in ("time_limit=1e-9", "deadline=1e-9"):
        records = service.text(TEXT.replace("She", "Who"), query).lines
        assert len(records) in (1, 3)  # after the deadline nothing new is begun
        for tree in records[0]["trees"]:
            assert tree["upper_bound"] >= tree["score"]


def test_a_deadline_is_told_where_the_answer_has_begun(service: Running) -> None:
    found = service.odd("The cat slept .", *["wait " + "slept " * 60] * 3, deadline=0.8)
    assert found.status == 200
    assert found.lines[0]["words"] == ["The", "cat", "slept", "."]
    assert found.lines[-1] == {"error": "the deadline passed after sentence 1: send less at a time"}


def test_explain(service: Running) -> None:
    found = service.ask("/v1/explain?k_best=2&sentence=2", TEXT.encode(), "text/plain")
    assert found.headers["content-type"].startswith("text/html")
    assert found.text.startswith("<!doctype html>") and "A dog saw" in found.text
    refused = service.ask("/v1/explain?sentence=9", TEXT.encode(), "text/plain")
    assert (refused.status, refused.json["error"]) == (400, "no sentence 9: the input has 3")


@pytest.mark.parametrize(
    ("body", "kind", "query", "status", "text"),
    [
        (b"{", "application/json", "", 400, "Invalid JSON"),
        (b"[]", "application/json", "", 400, "object"),
        (b"{}", "application/json", "", 400, "found none, expected one of text, conllu, words"),
        (b'{"text": "a", "odd": 1}', "application/json", "", 400, "odd: Extra inputs"),
        (b'{"text": "a", "k_best": 0}', "application/json", "", 400, "k_best: "),
        (b'{"words": [[]]}', "application/json", "", 400, "sentence 1 has no words"),
        (b'{"words": [["a\\tb"]]}', "application/json", "", 400, "without tabs"),
        (b'{"text": "\\ud800 slept."}', "application/json", "", 400, ""),
        (b"a", "text/plain", "odd=1", 400, "odd: Extra inputs"),
        (b"a", "text/plain", "valid=/etc/passwd", 400, "expected one of none, ud"),
        (b"a", "text/plain", "model=none", 400, "no model 'none'; there are: toy-small-1, odd"),
        (b"caf\xe9", "text/plain", "", 400, "byte 4 of the body is 0xe9, expected UTF-8"),
        (b" \n", "text/plain", "", 400, "no words"),
        (b"1\tThe\n", "text/x-conllu", "", 400, "line 1: expected 10 columns, found 2"),
        (b"a", "application/x-www-form-urlencoded", "", 415, "expected text/plain"),
        (b"a " * 1001, "text/plain", "split=lines", 413, "has 1001 words, expected at most 1000"),
        (b"a" * 100_001, "text/plain", "", 413, "more than 100,000 bytes"),
        (b"a", "text/plain", "confidence=true", 400, "calibrat"),
        (
            under({"heads": {"1": 2}}, {"heads": {"1": 3}}),
            JSON,
            "",
            400,
            "constraints: Value error, found 2 of sentence 1, expected one",
        ),
        (under({"sentence": 99, "forbid": [[1, 2]]}), JSON, "", 400, "found sentence 99, the inp"),
        (
            under({"labels": {"1": "obj"}}),
            JSON,
            "",
            400,
            "labels: found 1: obj, expected a head of",
        ),
        (b'{"text": "a"}', JSON, "k_best=2", 400, "found k_best in the query, expected all option"),
        (under({"heads": {"9": 2}}), JSON, "", 400, "constraints, heads: found 9: 2 for sentence"),
        (under({"heads": {"1": 10**30}}), JSON, "", 400, "constraints.0.heads.1: Input should be"),
        (under({"factors": [{"arcs": [[1, 10**30]]}]}), JSON, "", 400, "should be less than or"),
        *[(b"It slept.", "text/plain", f"{name}={10**30}", 400, name) for name in NUMBERS],
    ],
)
def test_bad_requests(
    service: Running, body: bytes, kind: str, query: str, status: int, text: str
) -> None:
    found = service.ask(f"/v1/parse?{query}", body, kind)
    assert (found.status, list(found.json)) == (status, ["error"])
    assert text in found.json["error"] and "\n" not in found.json["error"]


def test_a_body_that_is_much_too_large(service: Running) -> None:
    """Clients that read nothing before they have sent everything see why it is refused."""
    assert service.ask("/v1/parse", b"a" * 30_000_000, "text/plain").status == 413


def test_models_by_name(service: Running) -> None:
    assert service.text("It slept.", "model=toy-small").text == service.text("It slept.").text
    assert service.text("It slept.", "model=toy-sm").status == 400


def test_what_the_service_says_of_itself(service: Running) -> None:
    health = service.ask("/health")
    abilities = ["tokenizer", "tagger", "parser"]
    assert health.status == 200 and health.json["status"] == "ok"
    assert health.json["models"] == {"toy-small-1": abilities, "odd": abilities}
    assert health.json["workers"] == 2
    api = service.ask("/openapi.json").json
    content = api["paths"]["/v1/parse"]["post"]["requestBody"]["content"]
    assert set(content) == {"application/json", "text/plain", "text/x-conllu"}
    assert service.ask("/nothing").status == 404
    assert service.ask("/v1/parse").status == 405


def test_a_sentence_with_too_many_parts(service: Running) -> None:
    found = service.text("slept " * 200, "split=lines&prune=0")
    assert found.status == 400 and "too many parts" in found.json["error"]
