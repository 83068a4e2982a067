"""The model finnish of bbparse, as data."""
