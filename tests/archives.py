"""The fields of archives, as numpy reads them, to be changed and written again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np


def fields_of(path: Path) -> dict[str, Any]:
    """All fields of an archive, without its kind and version."""
    with np.load(path) as archive:
        fields = {name: archive[name] for name in archive.files if name != "card.json"}
        fields |= json.loads(archive["card.json"])
    del fields["kind"], fields["version"]
    return fields
