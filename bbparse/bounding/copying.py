"""Copying one array into another, in compiled code.

``target[:] = source`` may fail, if the shapes differ, with a message that names them, and numba
compiles the making of that message into each kernel that has such an assignment and into all that
call it: 2,700 lines of LLVM's language in a kernel that has 400 without. So kernels copy by loops.
"""

from __future__ import annotations

from bbparse.jit import kernel


@kernel
def copy_into(target, source):
    """Copy a vector into one of the same length."""
    for i in range(source.shape[0]):
        target[i] = source[i]
