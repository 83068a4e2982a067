"""Roots: work, and problems that need no search."""

from __future__ import annotations

import subprocess
import sys

import numpy as np

from bbparse.core import Problem
from bbparse.inference.solve import solve


def test_listing_counts_as_work() -> None:
    p = Problem.from_arc_scores(np.random.default_rng(8).normal(size=(13, 13)))
    s = solve(p, k_best=5000)
    assert s.status == "optimal" and s.stats["dp_work"] * s.stats["edges"] > 5000 * p.n_words


ORDINARY = """
import bbparse
from bbparse.inference.relaxation.node import call_oracle

nlp = bbparse.load()
texts = ["The quick brown fox jumps over the lazy dog.", "She gave him the book that I read.",
         "Where do you want to go today?", "I saw the man with the telescope, didn't you?"]
for text in texts:
    assert len(nlp(text, k_best=2, valid="none")) == len(nlp(text)) == 1
for text in texts[:3]:  # the second tree of the last breaks a rule: "did" is AUX and has dependents
    assert len(nlp(text, k_best=2)) == 1
print(len(call_oracle._whole.signatures))
"""


def test_ordinary_sentences_compile_no_kernel_of_the_search() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", ORDINARY], capture_output=True, text=True, check=True
    )
    assert ran.stdout == "0\n"
