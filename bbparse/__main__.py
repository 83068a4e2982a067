"""``python -m bbparse``: the command line, where no script was installed."""

from bbparse.apps.cli.console import console

if __name__ == "__main__":
    console()
