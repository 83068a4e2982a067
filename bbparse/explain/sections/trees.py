"""The best tree, and the trees that come next."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from bbparse.explain.losses import NO_OTHER
from bbparse.explain.sections.boxes import box
from bbparse.explain.sections.terms import term_name
from bbparse.explain.words import arc_text, changes, count, number, ordinal, word
from bbparse.show.svg import Arc, describe_tree, draw_arcs, markup
from bbparse.show.text import draw_text

if TYPE_CHECKING:
    from bbparse.explain.explanation import Explanation
    from bbparse.explain.losses import ArcLoss

#: Features that are listed for each side of a balance.
_TIPS = 8
#: More words than this, and the tree is wider than most screens.
_MANY_WORDS = 20


def best_tree(e: Explanation) -> str:
    """The best tree, with how sure each arc is."""
    close = e.close_calls
    arcs = []
    for loss in e.losses:
        label = e.best.labels[loss.mod - 1] if e.best.labels else ""
        kind = "close" if loss.mod in close else "forced" if loss.method == NO_OTHER else ""
        name = f"{arc_text(e, loss.head, loss.mod)}{f', {label}' if label else ''}"
        arcs.append(Arc(loss.head, loss.mod, label, kind, f"{name}: {_loss_text(e, loss)}"))
    image = draw_arcs(
        e.sentence.forms, arcs, e.sentence.upos, title="The best tree",
        description=describe_tree(e.sentence.forms, e.best.heads, e.best.labels),
        interactive=True,
    )  # fmt: skip
    key = []
    if close:
        key.append(
            '<li><i class="rule" style="color:var(--doubt)"></i>close call: its loss is below'
            " a quarter of the median</li>"
        )
    if any(loss.method == NO_OTHER for loss in e.losses):
        key.append(
            '<li><i class="rule" style="color:var(--soft);opacity:.6"></i>the only candidate that'
            " any tree can use</li>"
        )
    shown = f'<ul class="key">{"".join(key)}</ul>' if key else ""
    return f"""<section><h2>The best tree</h2>
<p class="soft">Point at an arc, tap it, or go through the arcs with the Tab key to see what the
tree would lose without it.</p>
{box(image, "The best tree")}{shown}{_word_by_word(e)}</section>"""


def _word_by_word(e: Explanation) -> str:
    """The best tree with a line for each word, which a narrow screen holds, too."""
    drawn = draw_text(e.sentence.forms, e.best.heads, e.best.labels, e.sentence.upos)
    lines = "\n".join(map(markup, drawn.splitlines()))
    lines = f'<pre class="lines">{lines}</pre>'
    shown = " open" if e.sentence.n_words > _MANY_WORDS else ""
    return (
        f'<details class="more"{shown}><summary>Word by word</summary>'
        f"{box(lines, 'The best tree, word by word')}</details>"
    )


def _loss_text(e: Explanation, loss: ArcLoss) -> str:
    """What happens without an arc, for its tooltip."""
    if loss.method == NO_OTHER:
        return "the only candidate that any tree can use"
    if not loss.heads:
        return "no tree without it was found within the limits"
    size = "" if loss.exact else "at most "
    others = loss.others_changed(e.best.heads)
    more = f", and {count(others, 'other arc')} would change" if others else ""
    return f"without it {size}{number(loss.loss)} lost: {word(e, loss.instead or 0)} instead{more}"


def runners_up(e: Explanation) -> str:
    """The other trees, and what decides against them."""
    if len(e.trees) < 2:
        return ""
    blocks = []
    for k in range(1, len(e.trees)):
        tree = e.trees[k]
        changed = set(e.changed(k))
        arcs = []
        for m, head in enumerate(tree.heads, start=1):
            label = tree.labels[m - 1] if tree.labels else ""
            tip = f"{arc_text(e, head, m)}: the best tree has {word(e, e.best.heads[m - 1])}"
            other = m in changed
            arcs.append(Arc(head, m, label, "other" if other else "", tip if other else ""))
        for m in sorted(changed):
            label = e.best.labels[m - 1] if e.best.labels else ""
            head = e.best.heads[m - 1]
            tip = f"{arc_text(e, head, m)}: only in the best tree"
            arcs.append(Arc(head, m, label, "gone", tip, below=True))
        image = draw_arcs(
            e.sentence.forms, arcs, e.sentence.upos, title=f"The {ordinal(k + 1)} best tree",
            description=describe_tree(e.sentence.forms, tree.heads, tree.labels),
            interactive=True,
        )  # fmt: skip
        less = e.best.score - tree.score
        proof = "" if tree.proved else " (not proved to be the tree of this rank)"
        title = f"{ordinal(k + 1)} best, {number(less, 4)} less" if less > 0 else "Just as good"
        blocks.append(
            f"<h3>{title}{proof}</h3><p>{changes(e, k)}</p>"
            f"{box(image, f'The {ordinal(k + 1)} best tree')}"
            f'<details class="more"{" open" if k == 1 else ""}><summary>What tips the balance'
            f"</summary>{_balance(e, k)}</details>"
        )
    return f"""<section><h2>The runners-up</h2>
<p class="soft">Arcs that the best tree does not have stand out; what they replace is drawn dashed
below the words.</p>
<ul class="key"><li><i class="rule" style="color:var(--doubt)"></i>only in this tree</li>
<li><i class="rule" style="border-top-style:dashed"></i>only in the best tree</li></ul>
{"".join(blocks)}</section>"""


def _balance(e: Explanation, k: int) -> str:
    """The features whose weights make the difference between the best tree and tree k."""
    nets = e.feature_balance(k)
    sides = []
    for title, sign in (("For the best tree", 1.0), (f"For the {ordinal(k + 1)}", -1.0)):
        chosen = [(name, sign * net) for name, net in nets if sign * net > 0]
        total = math.fsum(net for _, net in chosen)
        rows = "".join(
            f'<tr><td class="r">{number(net, 3)}</td><td class="wide"><span class="feature">'
            f'{markup(text)}</span><br><span class="soft">{markup(term_name(kind))}</span></td>'
            "</tr>"
            for (kind, text), net in chosen[:_TIPS]
        )
        rest = chosen[_TIPS:]
        if rest:
            rows += (
                f'<tr><td class="r">{number(math.fsum(net for _, net in rest), 3)}</td>'
                f'<td class="soft">{count(len(rest), "other feature")}</td></tr>'
            )
        sides.append(
            f'<div><h3>{title} <span class="num">{number(total, 3)}</span></h3>'
            f"<table><tbody>{rows}</tbody></table></div>"
        )
    return (
        '<p class="soft">What both trees score cancels out. These features are worth more in one'
        " of the two; they are the whole difference.</p>"
        f'<div class="two">{"".join(sides)}</div>'
    )
