"""Recommender of dependency arcs for INCEpTION: its external recommender API, version 1.

A request has a document as the XMI of a UIMA CAS, a type system, and the layer and feature to
predict. Arcs of the layer that the document has are kept, and the rest of each tree is the best
completion. The answer is the same text with an element for each suggestion.

The protocol is in INCEpTION's developer guide (External Recommender). Offsets count UTF-16 units,
as in Java.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple
from xml.etree import ElementTree
from xml.sax.saxutils import quoteattr

from pydantic import BaseModel, Field

from bbparse.apps.serve.schema import Refused
from bbparse.parser.parse import Parse
from bbparse.parser.parser import Parser
from bbparse.parser.validity.conditions import UPOS
from bbparse.runtime.errors import TreebankError
from bbparse.treebank import NO_HEAD, Sentence
from bbparse.treebank.sentence import ScoredTree
from bbparse.treebank.writing import with_columns

_SEGMENTATION = "de.tudarmstadt.ukp.dkpro.core.api.segmentation.type."
_NUMBER = re.compile(r"[0-9]{1,9}").fullmatch
_SOFA = "uima.cas.Sofa"
_PREDICTED = "inception_internal_predicted"
_ID = "{http://www.omg.org/XMI}id"
_UIMA = "{http://uima.apache.org/resourceSpecifier}"

ParseAll = Callable[[Parser, Iterable[Sentence]], Iterator[Parse]]


class Range(BaseModel):
    """Part of the text for which to make suggestions."""

    begin: int
    end: int


class Metadata(BaseModel):
    """Layer, feature and range to predict."""

    layer: str
    feature: str
    range: Range | None = None


class Document(BaseModel):
    """A document as XMI."""

    xmi: str


class Predict(BaseModel):
    """Body of a request to ``/predict``; other fields are ignored."""

    metadata: Metadata
    document: Document
    type_system: str = Field(alias="typeSystem")


class Train(BaseModel):
    """Body of a request to ``/train``; other fields are ignored."""

    metadata: Metadata
    documents: list[Document]


class Unit(NamedTuple):
    """A sentence with the ids of its tokens."""

    sentence: Sentence
    tokens: list[ElementTree.Element]


def answer(parser: Parser, request: Predict, parse: ParseAll) -> str:
    """Return the document with suggestions; `Refused` says what is wrong with a request.

    A sentence gets none if the arcs that it has make no tree, or a word has two heads, or one in
    another sentence.
    """
    types, features = _layer(request)
    root = _parsed("document.xmi", request.document.xmi)
    by_type: dict[str, list[ElementTree.Element]] = defaultdict(list)
    for element in root:
        by_type[_type_of(element)].append(element)
    by_id = {element.get(_ID): element for element in root}
    arcs: dict[str, list[ElementTree.Element]] = defaultdict(list)  # by dependent
    for arc in [x for name in sorted(types) for x in by_type[name]]:
        if arc.get("flavor", "basic") == "basic" and arc.get(_PREDICTED) != "true":
            arcs[arc.get("Dependent", "")].append(arc)
    sofa = next((s for s in by_type[_SOFA] if s.get("sofaString")), None)
    if sofa is None:
        raise Refused(400, "document.xmi: found no Sofa with a sofaString, expected a text")
    suggestions: list[dict[str, str]] = []
    for unit in _units(request.metadata.range, sofa, by_type, by_id):
        around = _with_arcs(unit, arcs, request.metadata.feature)
        if around is None or "_" not in around.deprels:
            continue
        try:
            trees = _best(parser, around, parse)
        except TreebankError:  # the arcs make no tree
            continue
        for tree in trees:
            suggestions += _suggestions(request.metadata.feature, features, unit, around, tree)
    return _with_suggestions(request, sofa, by_id, suggestions)


def _best(parser: Parser, sentence: Sentence, parse: ParseAll) -> list[ScoredTree]:
    """Return the best tree around the arcs of a sentence; arcs may cross if there is no other."""
    if not sentence.has_tags or parser.model.tagger is None:
        tagged = parser.tagged(sentence)
    else:
        tagged = with_columns(parser.model.tagger(sentence), upos=sentence.upos)
    try:
        (found,) = parse(parser, [tagged])
    except TreebankError:
        (found,) = parse(Parser(parser.model.with_projective(False), parser.options), [tagged])
    return found.trees[:1]


def _parsed(where: str, text: str) -> ElementTree.Element:
    """Parse XML; a document type, whose entities could be anything, is refused."""
    if "<!DOCTYPE" in text:
        raise Refused(400, f"{where}: found a document type, expected none")
    try:
        return ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError) as error:
        raise Refused(400, f"{where}: {error}, expected XML") from None


def _type_of(element: ElementTree.Element) -> str:
    """Return the type of an element: {http:///a/b.ecore}C is a.b.C."""
    space, _, name = element.tag.rpartition("}")
    return f"{space.removeprefix('{http:///').removesuffix('.ecore').replace('/', '.')}.{name}"


def _layer(request: Predict) -> tuple[set[str], set[str]]:
    """Return the layer's type with its subtypes, and its features, by the type system."""
    name, feature = request.metadata.layer, request.metadata.feature
    for key, value in (("layer", name), ("feature", feature)):
        if not re.fullmatch(r"[A-Za-z_][\w.]*", value):
            raise Refused(400, f"metadata.{key}: found {value!r}, expected a name")
    supertypes: dict[str, str] = {}
    ranges: dict[str, str] = {}

    def text(element: ElementTree.Element, child: str) -> str:
        return element.findtext(_UIMA + child, "").strip()

    types = _parsed("typeSystem", request.type_system).iter(f"{_UIMA}typeDescription")
    for description in types:
        own_name = text(description, "name")
        supertypes[own_name] = text(description, "supertypeName")
        if own_name == name:
            of_layer = description.iter(f"{_UIMA}featureDescription")
            ranges = {text(x, "name"): text(x, "rangeTypeName") for x in of_layer}
    for end in ("Governor", "Dependent"):
        if ranges.get(end) != f"{_SEGMENTATION}Token":
            raise Refused(
                400,
                f"typeSystem: {end} of {name!r} is {ranges.get(end)!r}, expected"
                f" {_SEGMENTATION}Token: a layer of relations between tokens",
            )
    if feature not in ranges:
        raise Refused(400, f"typeSystem: {name} has no feature {feature!r}")
    names = {name}
    while more := {own for own, above in supertypes.items() if above in names} - names:
        names |= more
    return names, {*ranges}


def _span(element: ElementTree.Element, size: int) -> tuple[int, int]:
    begin, end = element.get("begin", ""), element.get("end", "")
    if not (_NUMBER(begin) and _NUMBER(end) and int(begin) <= int(end) <= size):
        raise Refused(
            400,
            f"document.xmi: {_type_of(element).rpartition('.')[2]} {element.get(_ID)} is from"
            f" {begin!r} to {end!r}, expected offsets from 0 to {size}",
        )
    return int(begin), int(end)


def _units(
    wanted: Range | None,
    sofa: ElementTree.Element,
    by_type: Mapping[str, list[ElementTree.Element]],
    by_id: Mapping[str | None, ElementTree.Element],
) -> Iterator[Unit]:
    """Yield the sentences in the range; a sentence has tags if each of its words has one."""
    text = sofa.get("sofaString", "").encode("utf-16-le", "surrogatepass")
    size = len(text) // 2

    def spans(name: str) -> list[tuple[tuple[int, int], ElementTree.Element]]:
        found = by_type.get(_SEGMENTATION + name, ())
        own = [x for x in found if x.get("sofa") == sofa.get(_ID)]
        return sorted([(_span(x, size), x) for x in own], key=lambda row: row[0])

    tokens, first = spans("Token"), 0
    for number, ((begin, end), _) in enumerate(spans("Sentence"), start=1):
        while first < len(tokens) and tokens[first][0][0] < begin:
            first += 1
        last = first
        while last < len(tokens) and tokens[last][0][1] <= end:
            last += 1
        inside, first = tokens[first:last], last
        if not inside or (wanted is not None and not (begin < wanted.end and wanted.begin < end)):
            continue
        forms, tags = [], []
        for (start, stop), token in inside:
            form = text[2 * start : 2 * stop].decode("utf-16-le", "replace")
            forms.append(" ".join(form.split()) or "_")
            tag = by_id.get(token.get("pos"), token)
            values = [tag.get(name, "") for name in ("coarseValue", "PosValue")]
            tags.append(next((value for value in values if value in UPOS), ""))
        sentence = Sentence.from_words(
            forms, upos=tags if all(tags) else None, name=f"sentence {number}"
        )
        yield Unit(sentence, [token for _, token in inside])


def _with_arcs(
    unit: Unit, arcs: Mapping[str, list[ElementTree.Element]], feature: str
) -> Sentence | None:
    """Return the sentence with the arcs that the document has; None if a word has two heads."""
    number = {token.get(_ID): m for m, token in enumerate(unit.tokens, start=1)}
    sentence = unit.sentence
    for word, m in number.items():
        for arc in arcs.get(word or "", ()):
            head = number.get(arc.get("Governor"))
            if sentence.heads[m - 1] != NO_HEAD or head is None:
                return None
            sentence.heads[m - 1] = 0 if head == m else head
            sentence.deprels[m - 1] = " ".join(arc.get(feature, "").split()) or "_"
    return sentence


def _suggestions(
    feature: str, features: set[str], unit: Unit, around: Sentence, tree: ScoredTree
) -> Iterator[dict[str, str]]:
    """Yield the attributes of an element for each word that has no head or label yet."""
    for i, token in enumerate(unit.tokens):
        if around.deprels[i] != "_":
            continue
        head = unit.tokens[tree.heads[i] - 1] if tree.heads[i] else token
        found = {name: token.get(name, "") for name in ("sofa", "begin", "end")}
        found |= {"Governor": head.get(_ID, ""), "Dependent": token.get(_ID, "")}
        if tree.labels:
            found[feature] = tree.labels[i]
        if "flavor" in features:
            found["flavor"] = "basic"
        if tree.confidences and f"{feature}_score" in features:
            found[f"{feature}_score"] = f"{tree.confidences[i]:.4f}"
        yield {**found, _PREDICTED: "true"}


def _with_suggestions(
    request: Predict,
    sofa: ElementTree.Element,
    by_id: Mapping[str | None, ElementTree.Element],
    suggestions: list[dict[str, str]],
) -> str:
    """Return the text of the document with elements at its end, as members of the view."""
    text, number = request.document.xmi, sofa.get(_ID, "")
    last = max([int(x) for x in by_id if x is not None and _NUMBER(x)], default=0)
    space, _, name = request.metadata.layer.rpartition(".")
    start = f'<s:{name} xmlns:s="http:///{space.replace(".", "/")}.ecore"'
    start += ' xmlns:xmi="http://www.omg.org/XMI" '
    elements = []
    for i, attributes in enumerate(suggestions, start=last + 1):
        pairs = " ".join(f"{key}={quoteattr(value)}" for key, value in attributes.items())
        elements.append(f'{start}xmi:id="{i}" {pairs}/>')
    members = " ".join(str(last + i) for i in range(1, len(suggestions) + 1))
    for view in re.finditer(r"<[\w.-]+:View\b[^<>]*>", text):
        if re.search(rf"""\ssofa\s*=\s*["']{re.escape(number)}["']""", view[0]):
            added, n = re.subn(r"""(\smembers\s*=\s*["'])""", rf"\g<1>{members} ", view[0], count=1)
            if n:
                text = text[: view.start()] + added + text[view.end() :]
                end = text.rindex("</")
                return text[:end] + "".join(elements) + text[end:]
    raise Refused(400, f"document.xmi: found no View of Sofa {number!r} with members")
