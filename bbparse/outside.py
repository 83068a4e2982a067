"""Old name of `bbparse.embeddings`, which keeps working."""

from __future__ import annotations

from bbparse.runtime.renamed import renamed_members

__getattr__ = renamed_members(
    __name__,
    {"Outside": "Embeddings", "outside_from": "embeddings_from"},
    new="bbparse.embeddings",
)
