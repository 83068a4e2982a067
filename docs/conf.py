"""Settings of Sphinx: `make docs` builds the pages into build/docs."""

from __future__ import annotations

import bbparse

project = "bbparse"
author = "The bbparse authors"
copyright = author
release = version = bbparse.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
]
myst_heading_anchors = 3

napoleon_google_docstring = False
napoleon_use_rtype = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings give types, with shapes and dtypes
autodoc_default_options = {"members": True}

# Attributes such as n_words exist in several classes; their mentions are left unlinked.
suppress_warnings = ["ref.python"]

html_theme = "furo"
html_title = "bbparse"
html_copy_source = False
exclude_patterns = ["build"]
