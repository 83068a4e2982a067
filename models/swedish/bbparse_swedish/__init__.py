"""The model swedish of bbparse, as data."""
