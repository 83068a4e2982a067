"""Old name of `bbparse.embeddings`, which keeps working."""

from __future__ import annotations

from bbparse.renamed import renamed_module

__getattr__ = renamed_module(
    __name__, "bbparse.embeddings", {"Outside": "Embeddings", "outside_from": "embeddings_from"}
)
