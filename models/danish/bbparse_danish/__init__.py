"""The model danish of bbparse, as data."""
