"""The model ukrainian of bbparse, as data."""
