"""Run the command line with ``python -m bbparse``."""

from bbparse.apps.cli.console import console

if __name__ == "__main__":
    console()
