"""A treebank under annotation: its sentences, the steps of the annotator, and saving."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from bbparse.apps.annotate.completion import BrokenRule, Completer, RatedTree
from bbparse.apps.annotate.journal import History, Journal, Step, digest
from bbparse.apps.annotate.marks import COLUMNS, Act, Marks, checked_entry, written
from bbparse.parser.combine import alternatives
from bbparse.runtime.errors import BBParseError, OutputError, one_line
from bbparse.runtime.output import check_output, open_output
from bbparse.treebank import NO_HEAD, Sentence, format_sentence, read_conllu
from bbparse.treebank.sentence import check_key

#: Seconds until saving is tried again after it failed.
_RETRY = 5.0
#: Seconds between sentences that are parsed ahead, so that other threads get the lock.
_PAUSE = 0.001
#: Maximum number of a tree, counted from 0, that can be shown or accepted.
MAX_TREE = 99


class Conflict(Exception):
    """The client acted on an outdated revision of a sentence."""


class Impossible(Exception):
    """An act that is invalid or that no tree allows; the text gives the reason."""


@dataclass(slots=True)
class Entry:
    """A sentence of the treebank and its steps."""

    base: Sentence
    base_text: str
    steps: list[Step]
    text: str  #: The text to save.
    history: int | None = None  #: Number of the sentence in the journal, if it is there.
    at: int = 0
    revision: int = 0
    changed: int = 0  #: Value of `Treebank.changes` when it changed last.
    tree: RatedTree | None = None  #: The current tree, once it is known.
    broken: Sequence[BrokenRule] = ()  #: Rules that this tree breaks.
    tagged: Sentence | None = None  #: The sentence with predicted tags if it has none.

    @property
    def step(self) -> Step:
        """The current step."""
        return self.steps[self.at]

    @property
    def is_fixed(self) -> bool:
        """True if all arcs are fixed."""
        return len(self.step.marks.fixed) == self.base.n_words


class Treebank:
    """Sentences of a CoNLL file under annotation; thread-safe.

    They are saved to `output` if given, otherwise to the file itself. With `suggest_only`, arcs of
    the file are fixed, and only fixed arcs are saved.
    """

    def __init__(
        self,
        source: Path,
        completer: Completer,
        output: Path | None = None,
        *,
        suggest_only: bool = False,
    ) -> None:
        self.completer, self.suggest_only = completer, suggest_only
        self.target = source if output is None else output
        self.lock = threading.RLock()
        self.changes = 0
        self.trouble = ""  #: Why the last attempt to save failed, if it did.
        self.messages: list[str] = []  #: Warnings about the journal, to be shown at the start.
        self.entries = [self._entry(sentence) for sentence in read_conllu(source)]
        if completer.parser.model.tagger is None:  # raises an error if tags are needed
            for entry in self.entries:
                completer.parser.tagged(entry.base)
        spans = completer.parser.spans
        if spans is not None:
            check_key(any(spans.are_in(e.base) for e in self.entries), spans.key, str(source))
        check_output(self.target, streams=False)
        self._journal = Journal(Path(f"{self.target}.journal"))
        if output is not None and output.exists() and not self._journal.exists:
            self._journal.close()
            raise OutputError(f"{output}: exists and has no journal: remove it, or annotate it")
        self._seen = _signature(self.target)
        self._dirty = threading.Event()
        self._stop = threading.Event()
        self._unsaved = False
        self._threads: list[threading.Thread] = []
        self._restore(self._journal.histories())

    def _entry(self, sentence: Sentence) -> Entry:
        marks = Marks.of_file(sentence, self.suggest_only)
        text = format_sentence(sentence)
        step = Step(marks, tuple(sentence.heads), tuple(sentence.deprels))
        return Entry(sentence, text, [step], text)

    def _restore(self, histories: Sequence[History]) -> None:
        """Restore the steps of all sentences that no other program has changed."""
        places: dict[str, list[int]] = {}
        for i, entry in enumerate(self.entries):
            places.setdefault(digest(entry.base_text), []).append(i)
        restored, lost = set(), []
        for number, history in reversed(list(enumerate(histories))):  # newer ones have precedence
            name = replace(history.base, number=history.index + 1).name
            found = [
                i
                for text in history.written
                for i in places.get(text, ())
                if self.entries[i].history is None
            ]
            if found:
                saved = history.digests[history.at]
                index = min(
                    found,
                    key=lambda i: (
                        digest(self.entries[i].base_text) != saved,
                        abs(i - history.index),
                    ),
                )
                self._restore_one(index, number, history)
                restored.add(name)
            elif history.at and name not in restored:
                lost.append(f"{name} was changed or removed elsewhere: its steps are dropped")
        self.messages += reversed(lost)

    def _restore_one(self, index: int, number: int, history: History) -> None:
        """Restore the steps of one sentence."""
        entry = self.entries[index]
        kept = ("number", "source", "line_number", "before", "after")
        base = replace(history.base, **{name: getattr(entry.base, name) for name in kept})
        restored = self._entry(base)
        restored.history = number
        restored.steps += history.steps
        restored.at = history.at
        restored.text = self._text(restored, restored.step)
        self.entries[index] = restored
        if restored.text != entry.base_text:
            self._unsaved = True
            self._dirty.set()

    # ---- trees ----

    def state(self, entry: Entry) -> str:
        """Return untouched, work or done."""
        if not entry.at:
            return "untouched"
        return "done" if entry.is_fixed else "work"

    def _tags(self, entry: Entry) -> Sentence:
        """Return the original sentence, with predicted tags if it has none."""
        if entry.tagged is None:
            entry.tagged = self.completer.parser.tagged(entry.base)
        return entry.tagged

    def tagged(self, entry: Entry) -> Sentence:
        """Return a sentence with the tags that the parser uses."""
        return entry.step.marks.rewritten(self._tags(entry))

    def trees(self, index: int, k: int) -> list[RatedTree]:
        """Return the current tree of a sentence and the best alternatives, up to k trees.

        Trees that ``bbparse combine`` noted in MISC come first. If all arcs are fixed, or the tree
        is the original one, alternatives ignore fixed arcs.
        """
        with self.lock:
            entry = self.entries[index]
            current = self._current_tree(entry)
            if k == 1 or current.complaint:
                return [current]
            is_free = entry.is_fixed or (not entry.at and entry.base.has_heads)
            around = replace(entry.step.marks, fixed={}) if is_free else entry.step.marks
            trees = [current, *self._combined(entry, around)]
            trees += self.completer.best(self.tagged(entry), around, k)
            distinct: dict[object, RatedTree] = {}
            for tree in trees:
                distinct.setdefault((tree.heads, tree.labels), tree)
            return [*distinct.values()][:k]

    def _combined(self, entry: Entry, marks: Marks) -> list[RatedTree]:
        """Return the trees of other files that ``bbparse combine`` noted, if marks allow them."""
        trees = []
        for parses, heads, labels in alternatives(entry.base):
            given = replace(self.tagged(entry), heads=heads, deprels=labels)
            if self.completer.allows(given, marks):
                tree = self.completer.draft(given, marks)
                trees += [] if tree.complaint else [replace(tree, source=f"of file {parses}")]
        return trees

    def _current_tree(self, entry: Entry, tree: RatedTree | None = None) -> RatedTree:
        """Return the tree of the current step; `tree` sets it if it is known."""
        if tree is not None or entry.tree is None:
            sentence = self.tagged(entry)
            entry.tree = tree or self._completed(entry, sentence)
            entry.broken = self.completer.broken(sentence, entry.tree)
            self.changes += 1
            entry.changed = self.changes
        return entry.tree

    def _completed(self, entry: Entry, sentence: Sentence) -> RatedTree:
        """Find the tree of the current step, with probabilities."""
        step, n = entry.step, entry.base.n_words
        try:
            if not entry.at and entry.base.has_heads:
                return self.completer.draft(sentence, step.marks)
            if entry.at and entry.is_fixed and all(name for _, name in step.marks.fixed.values()):
                return RatedTree(step.heads, step.labels, (1.0,) * n, 1.0)
            best = self.completer.best(sentence, step.marks)[0]
            if not entry.at or (best.heads, best.labels) == (step.heads, step.labels):
                return best
            # The step was completed by another model or under other rules.
            given = replace(sentence, heads=list(step.heads), deprels=list(step.labels))
            return self.completer.draft(given, step.marks)
        except BBParseError as error:
            heads, labels = zip(*step.marks.arcs(n))
            return RatedTree(heads, labels, (0.0,) * n, 0.0, complaint=one_line(error))

    # ---- acts ----

    def act(self, index: int, act: Act) -> None:
        """Apply an act to a sentence and write it to the journal.

        `Conflict` if the sentence has another revision, `Impossible` if the act is invalid or no
        tree allows it, `OutputError` if the journal cannot be written; then nothing changes.
        """
        with self.lock:
            entry = self.entries[index]
            self._check(act, entry.base.n_words)
            if act.revision != entry.revision:
                raise Conflict
            tree = None
            if act.kind in ("undo", "redo"):
                at = entry.at + (1 if act.kind == "redo" else -1)
                if not 0 <= at < len(entry.steps):
                    raise Impossible(f"nothing to {act.kind}")
                self._journal.move(cast(int, entry.history), at)  # it has steps
            else:
                at = entry.at + 1
                step, tree = self._step(index, act)
                text = self._text(entry, step)
                if entry.history is None:
                    entry.history = self._journal.begin(entry.base_text, index, step, text)
                else:
                    self._journal.step(entry.history, at, step, text)
                entry.steps[at:] = [step]
            entry.at, entry.tree = at, None
            entry.text = self._text(entry, entry.step)
            entry.revision += 1
            self._current_tree(entry, tree)
            self._unsaved = True
            self._dirty.set()

    def _step(self, index: int, act: Act) -> tuple[Step, RatedTree | None]:
        """Return the step that an act results in, and its tree if that is known."""
        entry = self.entries[index]
        marks = entry.step.marks.after(act)
        if act.kind == "accept":
            trees = self.trees(index, act.tree + 1)
            if len(trees) <= act.tree or NO_HEAD in trees[act.tree].heads:
                raise Impossible("there is no such tree")
            arcs = zip(trees[act.tree].heads, trees[act.tree].labels)
            marks = marks.with_fixed(dict(enumerate(arcs, start=1)))
        if marks == entry.step.marks and (act.kind != "accept" or self.state(entry) == "done"):
            raise Impossible("nothing changes")
        if act.kind == "accept":
            heads, labels = zip(*marks.arcs(entry.base.n_words))
            return Step(marks, heads, labels), None
        try:
            best = self.completer.best(marks.rewritten(self._tags(entry)), marks)[0]
        except BBParseError as error:
            # Other acts lead out of a state without a tree.
            if self._current_tree(entry).complaint and act.kind not in ("fix", "fix-edge"):
                return replace(entry.step, marks=marks), None
            raise Impossible(one_line(error)) from None
        return Step(marks, best.heads, best.labels), best

    def _check(self, act: Act, n: int) -> None:
        """Raise `Impossible` if a field of an act has an invalid value."""
        needs_word = act.kind in ("fix", "forbid", "fix-edge", "release-edge", "cell")
        for title, value, low, high in (
            ("word", act.word, int(needs_word), n),
            ("head", act.head, 0, n),
            ("tree", act.tree, 0, MAX_TREE),
        ):
            if not low <= value <= high:
                raise Impossible(f"{title}: found {value}, expected {low} to {high}")
        try:
            checked_entry("edge" if act.kind == "fix-edge" else "label", act.label)
            checked_entry(act.column, act.value)
        except ValueError as error:
            raise Impossible(str(error)) from None
        if act.column not in COLUMNS and (act.column or act.kind == "cell"):
            raise Impossible(f"column: found {act.column!r:.40}, expected one of {list(COLUMNS)}")
        if act.kind in ("fix", "forbid", "fix-edge") and act.head == act.word:
            raise Impossible("a word cannot be its own head")

    def _text(self, entry: Entry, step: Step) -> str:
        """Return the text to save after a step."""
        if step is entry.steps[0]:
            return entry.base_text
        heads, labels = step.heads, step.labels
        if self.suggest_only:
            heads, labels = zip(*step.marks.arcs(entry.base.n_words))
        # Predicted tags are suggestions, too.
        suggests = self.suggest_only and NO_HEAD in heads
        tagged = entry.base if suggests else self._tags(entry)
        graph = self.completer.graph(tagged, heads, labels)
        return written(entry.base, tagged, step.marks, heads, labels, graph)

    # ---- saving ----

    @property
    def is_saved(self) -> bool:
        """True if all steps are saved."""
        return not self._unsaved

    def start(self) -> None:
        """Start the threads that save and that parse sentences ahead."""
        for target in (self._keep_saving, self._parse_ahead):
            self._threads.append(threading.Thread(target=target, daemon=True))
            self._threads[-1].start()

    def _parse_ahead(self) -> None:
        for index in range(len(self.entries)):
            with self.lock:
                if not self._stop.is_set():
                    self._current_tree(self.entries[index])
            if self._stop.wait(_PAUSE):
                return

    def _keep_saving(self) -> None:
        while not self._stop.is_set():
            self._dirty.wait(_RETRY if self.trouble else None)
            self.save()

    def save(self) -> None:
        """Write unsaved steps to the file, unless another program has changed it."""
        with self.lock:
            self._dirty.clear()
            if not self._unsaved:
                return
            texts = [entry.text for entry in self.entries]
            self._unsaved = False
        try:
            if _signature(self.target) != self._seen:
                raise OutputError(
                    f"{self.target}: another program has changed it, so saving has stopped: restart"
                    " bbparse annotate"
                )
            self._journal.sync()
            with open_output(self.target) as stream:
                stream.write("".join(texts))
            self._seen = _signature(self.target)
            self.trouble = ""
        except (BBParseError, OSError, ValueError) as error:  # ValueError: not encodable
            with self.lock:
                self.trouble, self._unsaved = f"{error}; the journal has all steps", True

    def close(self) -> None:
        """Save, stop the threads and close the journal; `OutputError` if a step is not saved."""
        self._stop.set()
        self._dirty.set()
        for thread in self._threads:
            thread.join()
        self.save()
        self._journal.close()
        if self._unsaved:
            raise OutputError(self.trouble)


def _signature(path: Path) -> tuple[int, int, int] | None:
    """Return values that change when the file is written; None if there is no file."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
