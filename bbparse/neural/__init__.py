"""Neural networks: layers, 8-bit products, sequence networks, pretrained embeddings."""
