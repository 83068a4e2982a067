"""The model norwegian of bbparse, as data."""
