"""The model dutch of bbparse, as data."""
