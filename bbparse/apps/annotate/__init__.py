"""Treebank annotation in the browser: ``bbparse annotate``.

The annotator fixes and forbids arcs (`marks`), and the parser finds the best tree with these arcs
(`completion`). Each step is written to a journal before the request is answered (`journal`) and to
the file soon after (`treebank`). The page gets sentences as JSON (`view`) over HTTP (`http`).
"""
