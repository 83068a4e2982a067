"""Model files: where they are found, what is in them, and how weights are packed."""

from __future__ import annotations

from bbparse.errors import ModelError
from bbparse.storage.shipped import Shipped

#: What is loaded where no model is named.
DEFAULT_MODEL = "english"

MODELS = Shipped("model", "models", ".model", ModelError)
