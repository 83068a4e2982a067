"""Projective trees: arcs and part scores in, best trees and max-marginals out, by charts."""
