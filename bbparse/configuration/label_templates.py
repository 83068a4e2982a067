"""The feature templates that the labeller uses where a configuration names none."""

from __future__ import annotations

from bbparse.configuration.templates import TemplateSet
from bbparse.errors import ConfigError

#: See `bbparse.scoring.labeller` for what the words of each kind are.
DEFAULT_TEMPLATES: dict[str, list[str] | int] = {
    "bits": 18,
    "arc": [
        "h.{lexpos,lemma} @dirdist",
        "m.{lexpos,lemma,morph,lower} @dirdist",
        "m.{lemma,morph} @dir",
        "h.lexpos m.{upos,lexpos,lemma} @dir",
        "h.lemma m.{upos,lexpos,lemma} @dir",
        "h.morph m.morph @dir",
        "h.upos m.suffix3 @dir",
        "h.upos m.upos m-1.lexpos @dir",
        "h.upos m.upos m+1.lexpos @dir",
        "h.lexpos h+1.upos m.upos @dir",
        "h.upos m.upos m.case @dir",
        "h.upos m.upos @dirdist",
    ],
    "sibling": [
        "h.upos s.{lexpos,lemma} m.upos @dir",
        "h.lemma s.upos m.upos @dir",
    ],
    "grandchild": [
        "h.upos m.{upos,lexpos,lemma} @dir",
        "h.lexpos m.feats @dir",
        "g.upos h.upos m.{upos,lexpos} @gdir",
        "g.lemma h.upos m.lexpos @gdir",
    ],
    "grandsibling": [
        "h.upos s.lemma m.lexpos @dir",
        "g.upos h.upos m.lexpos @gdir",
        "g.lexpos h.lexpos m.lexpos @gdir",
        "g.upos h.upos s.upos m.upos @gdir",
    ],
}


def default_label_templates() -> TemplateSet:
    """`DEFAULT_TEMPLATES`, parsed."""
    return TemplateSet.from_table(DEFAULT_TEMPLATES, "labels.templates")


def check_label_templates(templates: TemplateSet) -> TemplateSet:
    """The templates, if the labeller can use them.

    Raises
    ------
    ConfigError
        If there are none, or some look at the words between: the labeller counts on every part of
        a kind having the same number of features.
    """
    found = [template for kind in templates.templates.values() for template in kind]
    if not found:
        raise ConfigError("labels.templates has no template, expected at least one")
    for template in found:
        if template.slot("b"):
            raise ConfigError(
                f"labels.templates: {str(template)!r} looks at the words between ('b.'),"
                " which labels cannot"
            )
        if "odds" in template.arcs:
            raise ConfigError(
                f"labels.templates: {str(template)!r} has @odds, which say nothing about arcs of"
                " a tree that is given"
            )
    return templates
