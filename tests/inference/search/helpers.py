"""Settings of all kinds."""

from __future__ import annotations

from bbparse.inference.search.settings import DEFAULT

#: One pass at every node, so that searches have to branch.
WEAK = DEFAULT.with_(root_calls=1, node_calls=1, eliminate_every=0, close_k=1)
SETTINGS = {
    "default": DEFAULT,
    "subgradient only": WEAK.with_(root_calls=200, node_calls=200),
    "few subgradients": WEAK.with_(root_calls=3, node_calls=3),
    "no elimination": DEFAULT.with_(eliminate_every=0),
    "elimination always": DEFAULT.with_(eliminate_every=1),
    "elimination at every other pass": DEFAULT.with_(eliminate_every=2),
    "elimination, weak": WEAK.with_(eliminate_every=1, root_calls=3),
    "branching only": WEAK,
    "many calls": DEFAULT.with_(root_calls=100, node_calls=30),
}
