"""Handcrafted families for English, one for each of the commonest errors of the backbone.

Each was written for a pattern of errors that cross-validation on the training data of UD English
EWT showed; docs/notes/error-analysis.md has the counts, and what each family gained. They name
tags and features of Universal Dependencies and English words, nothing else.
"""
