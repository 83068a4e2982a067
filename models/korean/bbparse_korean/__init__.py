"""The model korean of bbparse, as data."""
