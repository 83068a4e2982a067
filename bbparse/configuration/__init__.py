"""One TOML file says how a parser is trained and run: its records, its templates, its path."""

from bbparse.configuration.configuration import CONFIGURATIONS, Configuration

__all__ = ["CONFIGURATIONS", "Configuration"]
