"""``python -m bbparse``: the command line, where no script was installed."""

from bbparse.cli.main import main

if __name__ == "__main__":
    main()
