"""The model german of bbparse, as data."""
