"""Errors that a user can cause. Any other exception is a bug in the program.

The command line shows the text of a :class:`BBParseError` on one line and exits with status 2. So a
message names the place (file and line, or array and index), what was found and what was expected.
"""

from __future__ import annotations


class BBParseError(Exception):
    """Base of every error that input, settings or files can cause."""


class TreebankError(BBParseError):
    """A treebank that cannot be read, or two treebanks that do not match."""


class ProblemError(BBParseError):
    """Scores, arcs, parts or factors that do not make a parsing problem."""


class ModelError(BBParseError):
    """A model file that is missing, truncated, or of another kind or version."""


class ConfigError(BBParseError):
    """A configuration with an unknown key or an invalid value."""


class FactorError(BBParseError):
    """A factor family that is unknown, cannot be loaded or breaks its contract."""


class OutputError(BBParseError):
    """A file that cannot be written."""


class EmbeddingsError(BBParseError):
    """Word vectors or an encoder that cannot be read, or that differ from those of the model."""


class VerificationError(BBParseError):
    """A proof that does not prove its claim, or a solution that is wrong."""


class ServiceError(BBParseError):
    """A service that cannot listen at its address, or whose packages are not installed."""


class WorkerError(BBParseError):
    """A worker process that was killed or cannot be started."""


class ClusterError(BBParseError):
    """A cluster that does not answer, or that cannot run the task."""


def one_line(error: BaseException | str | None) -> str:
    """Return the text of an error on one line."""
    return " ".join(str(error).split())


def counted(number: int, noun: str) -> str:
    """Format a number of things: ``1 sentence``, ``2,001 sentences``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
