"""From sentences to problems: networks or templates score arcs, parts and labels."""
