"""The linear model: templates → hashed features → scores of arcs and parts."""
