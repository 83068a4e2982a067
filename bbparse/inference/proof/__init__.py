"""Proofs: problem and solution in, a certificate out; `verify` checks it independently."""
