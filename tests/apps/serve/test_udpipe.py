"""``/process`` and ``/models``, as clients of UDPipe's service ask."""

from __future__ import annotations

import json
import unicodedata
from email.mime.multipart import MIMEMultipart
from email.mime.nonmultipart import MIMENonMultipart
from email.policy import HTTP
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from bbparse.treebank import format_sentence
from tests import toy
from tests.apps.serve.conftest import Answer, Running

FORM = "application/x-www-form-urlencoded"


def process(service: Running, **fields: str) -> Answer:
    return service.ask("/process", urlencode(fields).encode(), FORM)


def multipart(service: Running, **fields: str) -> Answer:
    """As the client that comes with UDPipe 2 sends it."""
    message: Any = MIMEMultipart("form-data", policy=HTTP)
    for name, value in fields.items():
        part = MIMENonMultipart("text", "plain")
        part.add_header("Content-Disposition", f'form-data; name="{name}"')
        part.add_header("Content-Transfer-Encoding", "8bit")
        part.set_payload(value, charset="utf-8")
        message.attach(part)
    body = message.as_bytes().split(b"\r\n\r\n", maxsplit=1)[1]
    return service.ask("/process", body, message["Content-Type"])


def columns(result: str, *wanted: int) -> list[list[str]]:
    rows = [line.split("\t") for line in result.splitlines() if line[:1].isdigit()]
    return [[row[i] for i in wanted] for row in rows]


def test_a_client_from_pypi(service: Running) -> None:
    online = pytest.importorskip("udapi.tool.udpipeonline")
    from udapi.core.document import Document
    from udapi.core.root import Root

    client = online.UDPipeOnline("toy", server=service.url)
    assert client.list_models() == ["toy-small-1", "odd"]
    assert client.segment_text("The cat slept. She saw it.") == ["The cat slept.", "She saw it."]
    root = Root(text="The small cat slept.")
    (tree,) = client.tokenize_tag_parse_tree(root)
    assert [node.form for node in tree.descendants] == ["The", "small", "cat", "slept", "."]
    assert [node.deprel for node in tree.descendants if node.parent is tree] == ["root"]
    assert {node.upos for node in tree.descendants} >= {"DET", "NOUN", "VERB", "PUNCT"}
    assert tree.descendants[3].misc["SpaceAfter"] == "No"
    before = [node.parent.ord for node in tree.descendants]
    client.tag_parse_tree(tree)
    assert [node.parent.ord for node in tree.descendants] == before
    document = Document()
    for text in ("The cat slept.", "She saw the stove."):
        document.create_bundle().create_tree().text = text
    client.process_document(document, ranges=True)
    assert [len(tree.descendants) for tree in document.trees] == [4, 5]
    assert document.bundles[1].trees[0].descendants[0].misc["TokenRange"] == "15:18"


def test_ways_to_ask(service: Running) -> None:
    fields = {"data": "Žofie slept. A cat – too.", "tokenizer": "", "tagger": "", "parser": ""}
    found = process(service, **fields)
    assert found.headers["access-control-allow-origin"] == "*"
    assert list(found.json) == ["model", "acknowledgements", "result"]
    assert found.json["model"] == "toy-small-1"
    assert multipart(service, **fields).json == found.json
    query = f"tokenizer&tagger&parser&data={quote(fields['data'])}"
    assert service.ask(f"/process?{query}").json == found.json
    result = found.json["result"]
    assert result.startswith("# generator = bbparse ") and "TokenRange" not in result
    assert "# udpipe_model = toy-small-1\n" in result
    assert service.text(fields["data"]).lines[0]["words"] == ["Žofie", "slept", "."]


def test_formats(service: Running) -> None:
    words = {"data": "The cat slept .\nIt did\n", "input": "horizontal"}
    found = process(service, **words, tagger="", parser="").json["result"]
    assert columns(found, 0, 1)[3:] == [["4", "."], ["1", "It"], ["2", "did"]]
    upright = "The\ncat\nslept\n.\n\nIt\ndid\n"
    again = process(service, data=upright, input="vertical", parser="").json["result"]
    assert columns(again, 1, 6) == columns(found, 1, 6)
    assert process(service, **words, output="vertical").json["result"] == upright + "\n"
    assert process(service, **words, output="horizontal").json["result"] == words["data"]
    lines = {"data": "The cat. Slept\nIt did", "tokenizer": "presegmented"}
    plain = process(service, **lines, output="plaintext").json["result"]
    assert plain == lines["data"] + "\n"
    treebank = "".join(format_sentence(s, last=False) for s in toy.dev_sentences())
    assert treebank in process(service, data=treebank).json["result"]
    assert columns(process(service, data="", tokenizer="").json["result"]) == []
    ranged = process(service, data="It slept", tokenizer="ranges").json["result"]
    assert columns(ranged, 9) == [["TokenRange=0:2"], ["TokenRange=3:8"]]


def test_line_ends_and_byte_order_marks(service: Running) -> None:
    sentences = list(toy.dev_sentences())[:2]
    treebank = "".join(format_sentence(s) for s in sentences).replace("\n", "\r\n")
    result = process(service, data=treebank).json["result"]
    assert result.endswith(f"\n{treebank}") and result.count("\r\n\r\n") == 2
    one = process(service, data=treebank.rstrip("\r\n")).json["result"]
    assert one.endswith("\n\n") and not one.endswith("\n\n\n")
    plain = process(service, data=treebank, output="plaintext").json["result"]
    assert plain == "".join(f"{sentence.written}\n" for sentence in sentences)
    for kind in ("vertical", "horizontal", "generic_tokenizer"):
        found = process(service, data="\ufeffIt\n\u200b\n", input=kind).json["result"]
        assert columns(found, 0, 1) == [["1", "It"]], kind


def test_ranges_are_those_of_the_text_that_was_sent(service: Running) -> None:
    text = "Cafe\u0301 slept. \u1100\u1161\u11a8 slept."  # decomposed
    found = process(service, data=text, tokenizer="ranges").json["result"]
    spans = [misc.partition("TokenRange=")[2].split(":") for (misc,) in columns(found, 9)]
    forms = [form for (form,) in columns(found, 1)]
    assert forms[0] == "Caf\u00e9" and "\uac01" in forms
    assert [
        unicodedata.normalize("NFC", text[int(start) : int(end)]) for start, end in spans
    ] == forms


@pytest.mark.parametrize(
    ("body", "kind", "text"),
    [
        (b"tokenizer=", FORM, "The parameter 'data' is required."),
        (b"data=a&model=none", FORM, "no model 'none'"),
        (b"data=a&input=epe", FORM, "Unknown input format 'epe'"),
        (b"data=a&output=epe", FORM, "Unknown output format 'epe'"),
        (b"data=a+b", FORM, "Cannot parse the input in 'conllu' format: input, line 1: expected"),
        (b"data=%ff&tokenizer=", FORM, "the form is malformed"),
        (b"data=\xff&tokenizer=", FORM, "expected UTF-8"),
        (b"data", "text/plain", "Unsupported payload Content-Type 'text/plain'."),
        (b"--x", "multipart/form-data; boundary=x", "The parameter 'data' is required."),
        (b"--x", "multipart/form-data", "The parameter 'data' is required."),
    ],
)
def test_bad_requests(service: Running, body: bytes, kind: str, text: str) -> None:
    found = service.ask("/process", body, kind)
    assert (found.status, found.headers["content-type"]) == (400, "text/plain; charset=utf-8")
    assert text in found.text
    assert "the query is malformed" in service.ask("/process?data=%ff").text


def test_models(service: Running) -> None:
    abilities = ["tokenizer", "tagger", "parser"]
    expected = {"toy-small-1": abilities, "odd": abilities}
    found = service.ask("/models")
    assert json.loads(found.text) == {"models": expected, "default_model": "toy-small-1"}
