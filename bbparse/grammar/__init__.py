"""Phrase structure: grammars, charts, and parsing that agrees with dependency trees."""
