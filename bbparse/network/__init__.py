"""Networks over sentences: their layers, word vectors in context, and training."""
