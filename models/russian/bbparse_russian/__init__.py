"""The model russian of bbparse, as data."""
