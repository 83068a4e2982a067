"""The model japanese of bbparse, as data."""
