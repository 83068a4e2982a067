"""Training: sentences with trees in, weights of networks, factors and templates out."""
