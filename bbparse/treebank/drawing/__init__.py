"""Output of trees: drawings for terminals, SVG, JSON lines. Nothing here searches or scores."""
