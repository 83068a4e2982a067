"""Model files: where they are found, what is in them, and how weights are packed."""
