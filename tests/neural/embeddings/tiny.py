"""A tiny encoder with random weights, and a vocabulary of letters."""

from __future__ import annotations

import json
from pathlib import Path
from string import ascii_lowercase


def make_encoder(folder: Path, seed: int = 0) -> Path:
    """Write one into a folder: 18 dimensions, 2 layers, at most 32 pieces."""
    import torch
    from transformers import BertConfig, BertModel

    letters = [*ascii_lowercase, *".,0123456789"]
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    vocabulary = [*special, *letters, *(f"##{letter}" for letter in letters), "the", "##ing"]
    folder.mkdir(exist_ok=True)
    text = "".join(f"{piece}\n" for piece in vocabulary)
    (folder / "vocab.txt").write_text(text, encoding="utf-8")
    settings = {"tokenizer_class": "BertTokenizer", "do_lower_case": True, "model_max_length": 32}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=18,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=32,
    )
    BertModel(config).save_pretrained(folder)
    return folder
