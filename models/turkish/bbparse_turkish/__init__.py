"""The model turkish of bbparse, as data."""
