"""Trees as layers of PyTorch models: best trees, sums over trees, losses, and their gradients.

Everything is computed by the solver and the charts of bbparse, sentence by sentence in float64 on
the processor; `torch` only hands scores in and gradients back.
"""

from __future__ import annotations

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise ImportError("bbparse.torch needs PyTorch: pip install 'bbparse[torch]'") from error

from bbparse.torch.layer import TreeBatch, TreeLayer, TreeMarginals

__all__ = ["TreeBatch", "TreeLayer", "TreeMarginals"]
