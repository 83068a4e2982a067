"""Trees as layers of PyTorch models: best trees, sums over trees, losses, and their gradients.

The solver and charts of bbparse compute everything, sentence by sentence in float64 on the CPU;
PyTorch only provides scores and receives gradients.
"""

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise ImportError(
        "bbparse.torch needs PyTorch: pip install '.[torch]' in the checkout"
    ) from error

from bbparse.torch.layer import TreeBatch, TreeLayer, TreeMarginals

__all__ = ["TreeBatch", "TreeLayer", "TreeMarginals"]
