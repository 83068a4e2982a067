"""Training of a tagger: what the text tells about words, then one layer after the other.

A parser that is to work with predicted tags is best trained on predicted tags, which have to be as
wrong as those of new text (QL13 §4.2): so training text is tagged in folds (`jackknife`), each
tenth of it by a tagger trained on the other nine.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from bbparse.configuration.templates import own_templates
from bbparse.embeddings import Embeddings
from bbparse.errors import TreebankError
from bbparse.tagging.encode import FormEncoder, fill_tags, style
from bbparse.tagging.layer import Layer, Lists
from bbparse.tagging.learning import LayerSettings, Lesson, train_layer
from bbparse.tagging.lemmas import apply_rule, is_absolute, rule_of
from bbparse.tagging.network import NetworkSettings, train_tag_network
from bbparse.tagging.tagger import LOWER, SAME, Tagger
from bbparse.treebank import Sentence
from bbparse.treebank.progress import progress_bars

Encoded = list[NDArray[np.uint64]]


@dataclass(frozen=True, slots=True)
class TaggerSettings:
    """Settings of the training of a tagger."""

    #: Of the three layers.
    tags: LayerSettings = field(default_factory=LayerSettings)
    feats: LayerSettings = field(default_factory=LayerSettings)
    lemmas: LayerSettings = field(default_factory=lambda: LayerSettings(chained=False, epochs=4))
    #: Of the network beside the layers of tags and FEATS; None: there is to be none.
    network: NetworkSettings | None = field(default_factory=NetworkSettings)
    #: A form seen so often tells its tags and its capitals to the features of its neighbours.
    known: int = 3
    #: A form seen so often has no tags but those it was seen with.
    frequent: int = 20
    #: The same for the FEATS of a form with a tag.
    frequent_feats: int = 10
    #: Forms seen at most so often tell which tags new words may have, and are learned from as if
    #: their lemma had never been seen.
    rare: int = 3
    #: Of the order of sentences.
    seed: int = 1

    def with_epochs(self, epochs: int) -> TaggerSettings:
        """Return the same settings with so many passes in each layer and the network."""
        tags, feats, lemmas = (
            replace(layer, epochs=epochs) for layer in (self.tags, self.feats, self.lemmas)
        )
        network = self.network and replace(self.network, epochs=epochs)
        return replace(self, tags=tags, feats=feats, lemmas=lemmas, network=network)


def train_tagger(
    sentences: Sequence[Sentence],
    settings: TaggerSettings | None = None,
    *,
    outside: Embeddings | None = None,
    progress: bool = False,
) -> Tagger:
    """Train a tagger.

    Parameters
    ----------
    sentences : sequence of Sentence
        With tags; columns of ``_`` alone (XPOS, FEATS, LEMMA) are left to be ``_``.
    settings : TaggerSettings, optional
    outside : Embeddings, optional
        Vectors that the network takes besides.
    progress : bool
        Whether to draw progress bars on standard error.

    Raises
    ------
    TreebankError
        If there are no sentences, or a word has no UPOS.
    """
    settings = settings or TaggerSettings()
    if not sentences:
        raise TreebankError("there are no training sentences")
    for sentence in sentences:
        if "_" in sentence.upos:
            word = sentence.upos.index("_") + 1
            raise TreebankError(
                f"{sentence.source or 'input'}, {sentence.name}: word {word} has no UPOS,"
                " expected one to learn from"
            )
    known, habits = _known_words(sentences, settings.known)
    encoder = FormEncoder(known, habits)
    values = [encoder(sentence.forms) for sentence in sentences]
    with progress_bars(progress):
        tags = _train_tags(sentences, values, settings)
        network = None
        if settings.network is not None:
            columns = [(_tags(s), s.feats, s.upos) for s in sentences]
            labels = tags.labels, list(_numbers(feats for s in sentences for feats in s.feats))
            network = train_tag_network(
                values, columns, labels, settings.network, settings.seed, sentences, outside
            )
        for sentence, some in zip(sentences, values):
            fill_tags(some, sentence.forms, _tags(sentence))
        feats = _train_feats(sentences, values, settings)
        for sentence, some in zip(sentences, values):
            fill_tags(some, sentence.forms, feats=sentence.feats)
        lemmas, lexicon = _train_lemmas(sentences, values, settings)
    notes = {"sentences": len(sentences), "words": sum(s.n_words for s in sentences)}
    taken = None if network is None else outside
    return Tagger(known, habits, tags, feats, lemmas, lexicon, notes, network, taken)


def _tags(sentence: Sentence) -> list[str]:
    return [f"{upos}\t{xpos}" for upos, xpos in zip(sentence.upos, sentence.xpos)]


def _numbers(values: Iterable[str]) -> dict[str, int]:
    return {value: i for i, value in enumerate(sorted(set(values)))}


def _known_words(
    sentences: Sequence[Sentence], least: int
) -> tuple[dict[str, str], dict[str, str]]:
    """Tags and capitals of forms that occur often enough, by the form in lower case."""
    tags: dict[str, Counter[str]] = defaultdict(Counter)
    cases: dict[str, Counter[str]] = defaultdict(Counter)
    for sentence in sentences:
        # the first word of a sentence and titles have capitals for other reasons
        telling = style(sentence.forms) not in "AT"
        for i, (form, tag) in enumerate(zip(sentence.forms, _tags(sentence))):
            lower = form.lower()
            tags[lower][tag] += 1
            if i and telling:
                case = "T" if form[:1].isupper() else "l"
                cases[lower]["A" if form.isupper() and len(form) > 1 else case] += 1
    known = {
        form: "|".join(tag for tag, n in sorted(found.items()) if 20 * n >= found.total())
        for form, found in tags.items()
        if found.total() >= least
    }
    habits = {
        form: "".join(case for case in "ATl" if 10 * found[case] >= found.total())
        for form, found in cases.items()
        if found.total() >= least
    }
    return known, habits


def _layer(
    name: str,
    number: Mapping[str, int],
    lists: Mapping[str, tuple[int, ...]],
    lessons: Iterable[tuple[NDArray[np.uint64], Lists, Sequence[int]]],
    settings: TaggerSettings,
) -> Layer:
    """Train a layer on the words, candidates and numbers of labels of each sentence."""
    return train_layer(
        name, list(number), lists, own_templates("tagger")[name],
        [Lesson(values, own, np.array(gold, np.int32)) for values, own, gold in lessons],
        getattr(settings, name), settings.seed,
    )  # fmt: skip


def _train_tags(
    sentences: Sequence[Sentence], values: Encoded, settings: TaggerSettings
) -> Layer:
    number = _numbers(tag for sentence in sentences for tag in _tags(sentence))
    of_form: dict[str, Counter[str]] = defaultdict(Counter)
    of_lower: dict[str, set[str]] = defaultdict(set)
    for sentence in sentences:
        for form, tag in zip(sentence.forms, _tags(sentence)):
            of_form[form][tag] += 1
            of_lower[form.lower()].add(tag)
    new: Counter[str] = Counter()
    for found in of_form.values():
        if found.total() <= settings.rare:
            new.update(found.keys())
    open_tags = {tag for tag, n in new.items() if n >= 2} or set(number)
    lists: dict[str, tuple[int, ...]] = {"": _sorted(number, open_tags)}
    for form, found in of_form.items():
        if found.total() >= settings.frequent:
            lists[form] = _sorted(number, found)
        elif not of_lower[form.lower()] <= open_tags:
            lists[form] = _sorted(number, open_tags | of_lower[form.lower()])
    chosen = [[lists.get(form, lists[""]) for form in sentence.forms] for sentence in sentences]
    gold = [[number[tag] for tag in _tags(sentence)] for sentence in sentences]
    return _layer("tags", number, lists, zip(values, chosen, gold), settings)


def _train_feats(
    sentences: Sequence[Sentence], values: Encoded, settings: TaggerSettings
) -> Layer | None:
    number = _numbers(feats for sentence in sentences for feats in sentence.feats)
    if set(number) == {"_"}:
        return None
    of_word: dict[str, Counter[str]] = defaultdict(Counter)
    of_tag: dict[str, set[str]] = defaultdict(set)
    keys = [
        [f"{form.lower()}\t{tag}" for form, tag in zip(sentence.forms, _tags(sentence))]
        for sentence in sentences
    ]
    for sentence, own in zip(sentences, keys):
        for key, tag, feats in zip(own, _tags(sentence), sentence.feats):
            of_word[key][feats] += 1
            of_tag[tag].add(feats)
    lists = {tag: _sorted(number, found) for tag, found in of_tag.items()}
    for key, found in of_word.items():
        if found.total() >= settings.frequent_feats:
            tag = key.partition("\t")[2]
            if len(found) < len(of_tag[tag]):
                lists[key] = _sorted(number, found)
    chosen = [[lists.get(key) or lists[key.partition("\t")[2]] for key in own] for own in keys]
    gold = [[number[feats] for feats in sentence.feats] for sentence in sentences]
    return _layer("feats", number, lists, zip(values, chosen, gold), settings)


def _train_lemmas(
    sentences: Sequence[Sentence], values: Encoded, settings: TaggerSettings
) -> tuple[Layer | None, dict[str, str]]:
    """Return the layer, and the lemmas of words that have but one."""
    if all(lemma == "_" for sentence in sentences for lemma in sentence.lemmas):
        return None, {}
    words: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for sentence in sentences:
        for form, tag, lemma in zip(sentence.forms, _tags(sentence), sentence.lemmas):
            if lemma != "_" or form == "_":
                words[form, tag][rule_of(form, lemma)] += 1
    types: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for (form, tag), found in words.items():
        for rule in found:
            if not is_absolute(rule):
                types[tag][rule].add(form.lower())
    general = {
        tag: {rule for rule, forms in rules.items() if len(forms) >= 2}
        for tag, rules in types.items()
    }
    number = _numbers(
        {LOWER, SAME}
        | {rule for rules in general.values() for rule in rules}
        | {rule for found in words.values() if len(found) > 1 for rule in found}
    )
    lists: dict[str, tuple[int, ...]] = {
        tag: _sorted(number, rules) for tag, rules in general.items() if rules
    }
    lists[""] = _sorted(number, (LOWER, SAME))
    lexicon: dict[str, str] = {}
    guesses: dict[tuple[str, str], tuple[int, ...]] = {}
    for (form, tag), found in words.items():
        if len(found) == 1:
            lexicon[f"{form}\t{tag}"] = apply_rule(next(iter(found)), form) or form
        else:
            lists[f"{form}\t{tag}"] = _sorted(number, found)
        if len(found) > 1 and found.total() > settings.rare:
            guesses[form, tag] = lists[f"{form}\t{tag}"]
        elif found.total() <= settings.rare:
            rules = {rule for rule in general.get(tag, ()) if apply_rule(rule, form) is not None}
            guesses[form, tag] = _sorted(number, rules or {LOWER, SAME})
    lessons = []
    for sentence, some in zip(sentences, values):
        chosen: list[tuple[int, ...]] = []
        gold: list[int] = []
        for form, tag, lemma in zip(sentence.forms, _tags(sentence), sentence.lemmas):
            label = number.get(rule_of(form, lemma))
            own = None if label is None else guesses.get((form, tag))
            chosen.append(own or (0,))  # nothing to learn
            gold.append(label if own and label else 0)
        lessons.append((some, chosen, gold))
    return _layer("lemmas", number, lists, lessons, settings), lexicon


def _sorted(number: Mapping[str, int], labels: Iterable[str]) -> tuple[int, ...]:
    return tuple(sorted(number[label] for label in labels))


#: Sentences that stay together where the file does not say which documents it has.
_BLOCK = 20


def folds_of(sentences: Sequence[Sentence], folds: int) -> NDArray[np.int64]:
    """Which fold each sentence is in, int64[N]; a `TreebankError` if there are too few of them.

    Documents (comments ``newdoc``) stay whole, because their words repeat; in a file without them,
    blocks of sentences do. They go round the folds, so that each has something of every genre.
    """
    number = np.cumsum([
        any(line.startswith("# newdoc") for line in sentence.lines[: sentence.word_lines[0]])
        for sentence in sentences
    ])  # fmt: skip
    if len(np.unique(number)) < 2 * folds:
        block = max(1, min(_BLOCK, len(sentences) // (2 * folds)))
        number = np.arange(len(sentences)) // block
    found = number % folds
    if folds < 2 or len(np.unique(found)) < folds:
        raise TreebankError(
            f"{len(sentences)} sentences cannot be cut into {folds} folds, expected at least"
            " two folds with a sentence each"
        )
    return found


def jackknife(
    sentences: Sequence[Sentence],
    folds: int = 10,
    settings: TaggerSettings | None = None,
    *,
    progress: bool = False,
    report: Callable[[str], object] = lambda line: None,
) -> list[Sentence]:
    """Sentences with the tags that a tagger trained on the other folds gives them.

    Parameters
    ----------
    sentences : sequence of Sentence
        With gold tags.
    folds : int
        At least 2.
    settings : TaggerSettings, optional
    progress : bool
        Whether to draw progress bars on standard error.
    report : callable, optional
        Called with a line of text after each fold.

    Returns
    -------
    list of Sentence
        Copies, in the same order; trees are as they were.
    """
    of = folds_of(sentences, folds)
    out: list[Sentence] = list(sentences)
    right = words = 0
    for fold in range(folds):
        tagger = train_tagger(
            [sentences[i] for i in np.flatnonzero(of != fold).tolist()], settings, progress=progress
        )
        for i in np.flatnonzero(of == fold).tolist():
            out[i] = tagger(sentences[i])
            right += sum(a == b for a, b in zip(out[i].upos, sentences[i].upos))
            words += sentences[i].n_words
        report(f"fold {fold + 1} of {folds}: UPOS {100 * right / words:.2f} so far")
    return out
