"""The model indonesian of bbparse, as data."""
