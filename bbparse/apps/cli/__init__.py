"""The command line: one file per command, listed in :mod:`bbparse.apps.cli.main`."""
