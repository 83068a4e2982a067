"""Oracles: the best structure under given scores; the protocol, and the oracles of trees."""
