"""Headers of parts of a model file: JSON in an array of text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from numpy.typing import NDArray

from bbparse.runtime.errors import BBParseError, ModelError


@contextmanager
def reading_header(
    name: str, needed: Iterable[str], arrays: Mapping[str, NDArray[Any]], where: str
) -> Iterator[dict[str, Any]]:
    """Read the array ``NAME_header`` of a part of a model file.

    Raises `ModelError` if one of the ``needed`` arrays is missing, or if the header, or what the
    caller's block does with it, fails.
    """
    missing = sorted(set(needed) - set(arrays))
    if missing:
        raise ModelError(f"{where}: field {missing[0]} of the {name} is missing")
    try:
        yield json.loads(str(arrays[f"{name}_header"].item()))
    except ModelError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, BBParseError) as error:
        raise ModelError(f"{where}: header of the {name} is damaged: {error}") from error
