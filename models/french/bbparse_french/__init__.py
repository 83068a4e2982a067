"""The model french of bbparse, as data."""
