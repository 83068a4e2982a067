"""The best trees of a `Problem`, with their proof. Nothing here knows about words."""
