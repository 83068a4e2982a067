"""Pruning: accuracy against speed on a treebank (QL13, Table 3, Figures 4 and 5)."""
