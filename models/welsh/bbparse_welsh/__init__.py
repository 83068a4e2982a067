"""The model welsh of bbparse, as data."""
