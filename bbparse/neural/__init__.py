"""Neural networks: layers, int8 products, sequence networks, pretrained embeddings."""
