"""Edit rules that turn a form into its lemma.

A rule is text of five parts, separated by tabs: what happens to capitals, the beginning to take
away and what takes its place, the ending to take away and what takes its place. The rule of
``cities`` and ``city`` is lower case, nothing, nothing, ``ies``, ``y``. It applies to forms with
that beginning and that ending only. A rule that starts with ``=`` is a lemma in itself, for words
such as ``went``.
"""

from __future__ import annotations

from difflib import SequenceMatcher

# Longer endings and beginnings belong to one word, not to a way of forming words.
_LONGEST = 5


def _cased(form: str, case: str) -> str:
    if case == "l":
        return form.lower()
    if case == "t":
        return form[:1].upper() + form[1:].lower()
    if case == "u":
        return form.upper()
    return form


def rule_of(form: str, lemma: str) -> str:
    """Return the most general rule that makes a lemma of a form, both without tabs."""
    for case in "lktu":
        changed = _cased(form, case)
        if changed == lemma:
            return f"{case}\t\t\t\t"
    for case in "lktu":
        changed = _cased(form, case)
        match = SequenceMatcher(None, changed, lemma, autojunk=False).find_longest_match()
        a, b, size = match.a, match.b, match.size
        parts = (changed[:a], lemma[:b], changed[a + size :], lemma[b + size :])
        if size >= 2 and max(map(len, parts)) <= _LONGEST:
            return "\t".join((case, *parts))
    return f"={lemma}"


def apply_rule(rule: str, form: str) -> str | None:
    """Return the lemma of a form by a rule; None where the rule does not apply."""
    if rule.startswith("="):
        return rule[1:]
    case, start, new_start, end, new_end = rule.split("\t")
    form = _cased(form, case)
    if len(form) < len(start) + len(end) or not (form.startswith(start) and form.endswith(end)):
        return None
    return (new_start + form[len(start) : len(form) - len(end)] + new_end) or None
