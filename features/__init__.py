"""The factor families of Qian & Liu 2013 §4.3: the first plug-in, without privileges.

The package is found through the entry-point group ``bbparse.factors`` like any other, and
`bbparse` does not import it. It is installed as ``bbparse_families``, a name that no file of a user
has. `bbparse.factors` says how to write a family; the module `handcrafted` has the kind that is a
few lines of Python, the other files the kind with a kernel.
"""
