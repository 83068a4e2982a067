"""Models: configuration, factor families, scoring, learning, and model files."""

from bbparse.runtime.errors import ModelError
from bbparse.runtime.shipped import Shipped

#: The model that is loaded if none is named.
DEFAULT_MODEL = "english"

MODELS = Shipped("model", "models/shipped", ".model", ModelError, "bbparse.models")
