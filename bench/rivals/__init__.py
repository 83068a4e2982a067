"""Other solvers on our problems, for bench/decode.py: one module each, with ``solve``.

Each imports its package when it is used; each is run in a process of its own, as some of them do
not bear one another.
"""
