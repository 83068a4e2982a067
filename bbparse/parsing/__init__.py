"""From sentences and texts to trees."""
