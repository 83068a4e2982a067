"""The model persian of bbparse, as data."""
