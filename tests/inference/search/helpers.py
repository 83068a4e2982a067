"""Settings of all kinds."""

from __future__ import annotations

from dataclasses import replace

from bbparse.inference.search.settings import DEFAULT

#: One pass at every node, so that searches have to branch.
WEAK = replace(DEFAULT, root_calls=1, node_calls=1, eliminate_every=0, close_k=1)
SETTINGS = {
    "default": DEFAULT,
    "subgradient only": replace(WEAK, root_calls=200, node_calls=200),
    "few subgradients": replace(WEAK, root_calls=3, node_calls=3),
    "no elimination": replace(DEFAULT, eliminate_every=0),
    "elimination always": replace(DEFAULT, eliminate_every=1),
    "elimination at every other pass": replace(DEFAULT, eliminate_every=2),
    "elimination, weak": replace(WEAK, eliminate_every=1, root_calls=3),
    "branching only": WEAK,
    "many calls": replace(DEFAULT, root_calls=100, node_calls=30),
}
