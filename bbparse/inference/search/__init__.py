"""Branch and bound: a problem and settings in, its k best trees with bounds out."""
