"""The model hebrew of bbparse, as data."""
