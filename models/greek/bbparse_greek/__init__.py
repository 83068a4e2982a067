"""The model greek of bbparse, as data."""
