"""The model vietnamese of bbparse, as data."""
