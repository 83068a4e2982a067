"""Annotation of a treebank in the browser: ``bbparse annotate``.

A person fixes and forbids arcs (`marks`), the parser completes the tree exactly around them
(`completion`), and every step is in the journal before it is answered (`journal`) and soon after in
the file (`treebank`). The page sees sentences as records (`view`) over HTTP (`http`).
"""
