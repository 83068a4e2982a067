"""The model portuguese of bbparse, as data."""
