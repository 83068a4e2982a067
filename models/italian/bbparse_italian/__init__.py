"""The model italian of bbparse, as data."""
