"""Factor families: what they propose, how features get weights. `factors` is the public face."""
