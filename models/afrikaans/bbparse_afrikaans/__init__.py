"""The model afrikaans of bbparse, as data."""
