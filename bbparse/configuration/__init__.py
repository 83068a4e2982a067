"""One TOML file configures how a parser is trained and run: records and templates."""

from bbparse.configuration.configuration import CONFIGURATIONS, Configuration

__all__ = ["CONFIGURATIONS", "Configuration"]
