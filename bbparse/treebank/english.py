"""What English words are, beyond blanks: the tokens of Universal Dependencies' English treebanks.

syntok cuts text at punctuation and finds where sentences end. These are the rules by which its
tokens are joined again (addresses, abbreviations, smileys, prefixes) and cut further
(contractions).
"""

from __future__ import annotations

import re

__all__ = ["KEPT", "STROKE", "contraction", "is_clitic"]

_APOSTROPHE = "'’`´"

_ABBREVIATIONS = """
    Mr Mrs Ms Dr St Jr Sr Inc Corp Co Ltd Capt Gen Gov Sen Rep Reps Sgt Lt Col Prof Rev Hon Pres
    Ave Blvd Rd Dept vs etc approx Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec Mon Tue Tues Wed
    Thu Thur Thurs Fri Mt Ft ext Attn Vol Va Ph esp eg ie
""".split()
_PREFIXES = """
    e non pre anti re mid post co over multi pro ex sub semi psycho neo un socio micro intra counter
    inter mis
""".split()
_ENDINGS = """
    com org net edu gov mil info biz co uk us ca de fr tv html htm php asp aspx jpg jpeg gif png pdf
    doc docx xls xlsx ppt txt zip exe mp3 avi
""".split()

#: Parts of a text that are one word whatever they are made of.
KEPT = re.compile(
    "|".join(
        f"(?:{pattern})"
        for pattern in (
            r"<?(?:https?|ftp)://[^\s<>\"]*[^\s<>\".,;:!?')\]]>?",  # addresses
            r"www\.[^\s<>\"]*[^\s<>\".,;:!?')\]]",
            r"(?<![\w.])[\w.+%-]+@[\w-]+(?:\.[\w-]+)+",
            r"(?<![\w.@])\w[\w-]*(?:\.\w[\w-]*)*\.(?:" + "|".join(_ENDINGS)
            + r")(?:/[^\s,;]*\w)?(?!\w)",
            r"(?<![\w&])[#@][A-Za-z_]\w+",
            r"(?<![\w:;])[:;=8][" + _APOSTROPHE + r"]?[-o^]?[)(DPpOo/\\|\]\[*3>]+(?!\w)",  # smileys
            r"<3(?!\d)",
            r"[.!?]{2,}|\*{2,}|={2,}|_{2,}|~{2,}|\+{2,}|-{2,}>?|<-{1,}|\${2,}",
            r"(?<![\w.])(?:[^\W\d_]\.){2,}|(?<![\w.])(?:[^\W\d_]\.)+[^\W\d_](?!\w)",  # U.S.
            r"(?<![\w.'])[A-Z]\.(?=\s+[A-Z])",  # initials
            r"(?<!\w)(?:" + "|".join(_ABBREVIATIONS) + r")\.(?!\w)",
            r"(?<!\w)No\.(?=\s*\d)",
            r"(?i:(?<![\w-])(?:" + "|".join(_PREFIXES) + r")-[^\W\d_]+(?!\w))",  # e-mail
            r"(?<!\w)[^\W\d_]*[a-z][A-Z][^\W_]*(?!\w)",  # iPhone, McLeran
            r"(?<!\w)[ODL]['’][A-Z]\w+",  # O'Neill
        )
    )
)

#: A stroke between two words that are words of their own: *and/or*.
STROKE = re.compile(r"(?<=[^\W\d_]{2})/(?=[^\W\d_]{2})")

_N_T = re.compile(
    rf"(?i)(ai|are|ca|could|did|do|does|had|has|have|is|might|must|need|ought|sha|should|was|were|wo"
    rf"|would)(n[{_APOSTROPHE}]?t)"
)
_APOSTROPHE_S = re.compile(rf"(?i)(.*\w)([{_APOSTROPHE}](?:s|m|d|ll|re|ve|em))")
_WHOLE = {
    word.replace("|", ""): len(word.partition("|")[0])
    for word in """
        can|not gon|na wan|na got|ta out|ta gim|me lem|me dun|no a|lot i|m i|ve that|s what|s
        there|s let|s he|s she|s who|s here|s where|s you|re they|re you|ve
        they|ve we|ve you|ll they|ll
    """.split()
}
_CLITIC = re.compile(rf"(?i)n[{_APOSTROPHE}]t|[{_APOSTROPHE}](?:s|m|d|ll|re|ve)")


def contraction(token: str) -> int:
    """Where a token consists of two words: the number of characters of the first; 0 if it is one.

    ``dont`` → 2 (do nt), ``cannot`` → 3, ``it's`` → 2, ``its`` → 0.
    """
    found = _WHOLE.get(token.lower())
    if found is not None:
        return found
    match = _N_T.fullmatch(token) or _APOSTROPHE_S.fullmatch(token)
    return match.end(1) if match else 0


def is_clitic(token: str) -> bool:
    """Whether a token is the second word of a contraction: ``n't``, ``'s``, ``'ll``."""
    return _CLITIC.fullmatch(token) is not None
