"""Model files: their location, their content, and how weights are packed."""

from __future__ import annotations

from bbparse.errors import ModelError
from bbparse.storage.shipped import Shipped

#: The model that is loaded if none is named.
DEFAULT_MODEL = "english"

MODELS = Shipped("model", "models", ".model", ModelError)
