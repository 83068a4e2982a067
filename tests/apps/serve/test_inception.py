"""``/inception/predict`` and ``/inception/train``, as INCEpTION asks."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from bbparse.apps.serve.work import Job, pieces
from bbparse.parser.parser import Parser
from tests import toy
from tests.apps.serve.conftest import Running

SEGMENTATION = "de.tudarmstadt.ukp.dkpro.core.api.segmentation.type"
SYNTAX = "de.tudarmstadt.ukp.dkpro.core.api.syntax.type.dependency"
POS = "de.tudarmstadt.ukp.dkpro.core.api.lexmorph.type.pos"
LAYER = {
    "layer": f"{SYNTAX}.Dependency",
    "feature": "DependencyType",
    "projectId": 7,
    "anchoringMode": "tokens",
    "crossSentence": False,
}
TEXT = "😀 The cat slept . It saw\nher ."


def type_xml(name: str, supertype: str, **ranges: str) -> str:
    features = "".join(
        f"<featureDescription><name>{key}</name><description/>"
        f"<rangeTypeName>{value}</rangeTypeName></featureDescription>"
        for key, value in ranges.items()
    )
    return (
        f"<typeDescription><name>{name}</name><description/><supertypeName>{supertype}"
        f"</supertypeName><features>{features}</features></typeDescription>"
    )


def type_system() -> str:
    token, string = f"{SEGMENTATION}.Token", "uima.cas.String"
    types = (
        type_xml(f"{SEGMENTATION}.Sentence", "uima.tcas.Annotation"),
        type_xml(token, "uima.tcas.Annotation", pos=f"{POS}.POS"),
        type_xml(f"{POS}.POS", "uima.tcas.Annotation", PosValue=string, coarseValue=string),
        type_xml(
            f"{SYNTAX}.Dependency",
            "uima.tcas.Annotation",
            Governor=token,
            Dependent=token,
            DependencyType=string,
            flavor=string,
            DependencyType_score="uima.cas.Double",
            inception_internal_predicted="uima.cas.Boolean",
        ),
        type_xml(f"{SYNTAX}.ROOT", f"{SYNTAX}.Dependency"),
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?><typeSystemDescription'
        ' xmlns="http://uima.apache.org/resourceSpecifier"><types>'
        f"{''.join(types)}</types></typeSystemDescription>"
    )


def utf16(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def xmi(arcs: str = "", tags: bool = True) -> str:
    """The document; words have the ids 101, 102, …, and their tags 201, 202, …"""
    words = [(found.start(), found.end()) for found in re.finditer(r"\S+", TEXT)]
    upos = "SYM DET NOUN VERB PUNCT PRON VERB PRON PUNCT".split()
    rows = []
    for number, ((start, end), tag) in enumerate(zip(words, upos), start=1):
        span = f'sofa="1" begin="{utf16(TEXT[:start])}" end="{utf16(TEXT[:end])}"'
        pos = f'pos="{200 + number}"' if tags else ""
        rows.append(f'<type3:Token xmi:id="{100 + number}" {span} {pos}/>')
        rows.append(f'<pos:POS xmi:id="{200 + number}" {span} PosValue="{tag}"/>' if tags else "")
    first = utf16(TEXT[: TEXT.index(".") + 1])
    rows += [
        f'<type3:Sentence xmi:id="91" sofa="1" begin="0" end="{first}"/>',
        f'<type3:Sentence xmi:id="92" sofa="1" begin="{first + 1}" end="{utf16(TEXT)}"/>',
        arcs,
    ]
    ids = re.findall('xmi:id="([0-9]+)"', "".join(rows))
    sofa = TEXT.replace("\n", "&#10;")
    return (
        '<?xml version="1.0" encoding="UTF-8"?><xmi:XMI xmlns:xmi="http://www.omg.org/XMI"'
        ' xmlns:cas="http:///uima/cas.ecore"'
        f' xmlns:type3="http:///{SEGMENTATION.replace(".", "/")}.ecore"'
        f' xmlns:pos="http:///{POS.replace(".", "/")}.ecore"'
        f' xmlns:dependency="http:///{SYNTAX.replace(".", "/")}.ecore" xmi:version="2.0">'
        f'<cas:NULL xmi:id="0"/>{"".join(rows)}<cas:Sofa xmi:id="1" sofaNum="1"'
        f' sofaID="_InitialView" mimeType="text" sofaString="{sofa}"/>'
        f'<cas:View sofa="1" members="{" ".join(ids)}"/></xmi:XMI>'
    )


def arc(number: int, head: int, word: int, label: str = "", kind: str = "Dependency") -> str:
    named = f'DependencyType="{label}" ' if label else ""
    return (
        f'<dependency:{kind} xmi:id="{number}" sofa="1" begin="0" end="2"'
        f' Governor="{100 + head}" Dependent="{100 + word}" {named}flavor="basic"/>'
    )


def body(document: str, types: str = "", **metadata: Any) -> dict[str, Any]:
    return {
        "metadata": {**LAYER, **metadata},
        "document": {"xmi": document, "documentId": 3, "userId": "ann"},
        "typeSystem": types or type_system(),
    }


def suggested(document: str) -> dict[int, tuple[int, str]]:
    """Head and label of each word that got an arc."""
    found = {}
    for text in re.findall("<s:Dependency [^>]*>", document):
        fields = dict(re.findall('([a-zA-Z_]+)="([^"]*)"', text))
        assert fields["inception_internal_predicted"] == "true" and fields["flavor"] == "basic"
        word = int(fields["Dependent"]) - 100
        assert word not in found
        found[word] = int(fields["Governor"]) - 100, fields["DependencyType"]
    return found


def test_all_arcs_are_suggested(service: Running) -> None:
    for document in (xmi(), xmi(tags=False)):
        answer = service.ask("/inception/predict", body(document))
        assert answer.status == 200, answer.text
        text = answer.json["document"]
        found = suggested(text)
        assert {*found} == {*range(1, 10)}
        assert sum(head == word for word, (head, _) in found.items()) == 2  # one root a sentence
        assert all((head <= 5) == (word <= 5) for word, (head, _) in found.items())
        kept = re.sub("<s:Dependency [^>]*>", "", text)
        new_ids = re.findall('<s:Dependency [^>]*xmi:id="([0-9]+)"', text)
        assert kept.replace(f'members="{" ".join(new_ids)} ', 'members="') == document
    same = service.ask("/inception/toy/predict", body(document)).json["document"]
    assert same == text
    start = utf16(TEXT[: TEXT.index("It")])  # of the second sentence, where the range ends
    part = service.ask("/inception/predict", body(xmi(), range={"begin": 0, "end": start}))
    assert {*suggested(part.json["document"])} == {*range(1, 6)}


def test_fixed_arcs_are_kept(service: Running) -> None:
    plain = suggested(service.ask("/inception/predict", body(xmi())).json["document"])
    assert plain[2][0] != 4
    arcs = arc(301, 3, 3, "root", "ROOT") + arc(302, 4, 2, "nmod") + arc(303, 3, 1)
    arcs += arc(304, 2, 4).replace("basic", "enhanced")
    found = suggested(service.ask("/inception/predict", body(xmi(arcs))).json["document"])
    assert {*found} == {1, *range(4, 10)} and found[1][0] == 3
    assert [word for word in range(1, 6) if found.get(word, (0,))[0] == word] == []
    crossing = arc(301, 4, 4, "root") + arc(302, 3, 1, "dep") + arc(303, 4, 2, "dep")
    found = suggested(service.ask("/inception/predict", body(xmi(crossing))).json["document"])
    assert {*found} == {3, *range(5, 10)}
    for impossible in (
        arc(301, 1, 2) + arc(302, 2, 1),
        arc(301, 1, 2) + arc(302, 3, 2),
        arc(301, 7, 2),
    ):
        text = service.ask("/inception/predict", body(xmi(impossible))).json["document"]
        assert {*suggested(text)} == {*range(6, 10)}


def test_the_library_of_inception_reads_it(service: Running) -> None:
    cassis = pytest.importorskip("cassis")
    types = cassis.load_typesystem(type_system())
    document = cassis.load_cas_from_xmi(xmi(arc(301, 3, 2, "det")), types).to_xmi()
    text = service.ask("/inception/predict", body(document, types.to_xml())).json["document"]
    arcs = cassis.load_cas_from_xmi(text, types).select(LAYER["layer"])
    new = [found for found in arcs if found.inception_internal_predicted]
    assert len(new) == 8 and len(arcs) == 9
    words = sorted(found.Dependent.get_covered_text() for found in new)
    assert words == sorted(word for word in TEXT.split() if word != "The")
    assert all(found.begin == found.Dependent.begin for found in new)


def test_confidence() -> None:
    parser = Parser(toy.changed(toy.reader(), notes=dict(toy.reader().model.notes)).model)
    parser.calibrate(toy.dev_sentences())
    job = Job(kind="inception", model="toy", inception=body(xmi(arc(301, 3, 2, "det"))))
    (text,) = pieces({"toy": parser}, job)
    scores = [float(x) for x in re.findall('DependencyType_score="([^"]*)"', text)]
    assert len(scores) == 8 and all(0.0 < score < 1.0 for score in scores)


def rename(old: str, new: str) -> Callable[[dict[str, Any]], None]:
    def change(request: dict[str, Any]) -> None:
        assert old in request["document"]["xmi"]
        request["document"]["xmi"] = request["document"]["xmi"].replace(old, new)

    return change


LAUGHS = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>'


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (rename("<cas:NULL", LAUGHS + "<cas:NULL"), "document.xmi: found a document type"),
        (rename("</xmi:XMI>", ""), "document.xmi: no element found: line 1"),
        (rename("<cas:Sofa", "<cas:Safe"), "document.xmi: found no Sofa with a sofaString"),
        (rename("members=", "numbers="), "document.xmi: found no View of Sofa '1' with members"),
        (rename('begin="3"', 'begin="-3"'), "document.xmi: Token 102 is from '-3' to '6'"),
        (rename('end="2"', f'end="{"9" * 5000}"'), "document.xmi: Token 101 is from '0' to '999"),
        (rename("slept", "\ud800"), "document.xmi: "),
        (rename("</xmi:XMI>", "<a>" * 20_000), "document.xmi: no element found: line 1"),
        (lambda r: r.update(typeSystem="<a>"), "typeSystem: no element found: line 1"),
        (lambda r: r.pop("typeSystem"), "body.typeSystem: Field required"),
        (lambda r: r["metadata"].update(feature="value"), "typeSystem: "),
        (lambda r: r["metadata"].update(feature='x="y'), "metadata.feature: found 'x=\"y'"),
        (lambda r: r["metadata"].update(layer=f"{POS}.POS"), "typeSystem: Governor of "),
    ],
)
def test_mistakes(
    service: Running, change: Callable[[dict[str, Any]], None], complaint: str
) -> None:
    request = body(xmi())
    change(request)
    answer = service.ask("/inception/predict", request)
    assert answer.status == 400
    assert answer.json["error"].startswith(complaint)
    assert "\n" not in answer.json["error"]
