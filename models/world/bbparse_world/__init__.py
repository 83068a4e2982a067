"""The model world of bbparse, as data."""
