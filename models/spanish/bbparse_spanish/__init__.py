"""The model spanish of bbparse, as data."""
