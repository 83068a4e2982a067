"""The model chinese of bbparse, as data."""
