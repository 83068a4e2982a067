"""The model romanian of bbparse, as data."""
