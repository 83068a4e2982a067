"""Phrase structure: bracketed trees, head-driven grammars, and parsers that agree with others."""
