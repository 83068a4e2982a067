"""From a `Problem` to a `Solution`."""
