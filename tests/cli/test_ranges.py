"""Every numeric option of every command refuses what is out of its range, in one line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import click
import pytest

from bbparse.cli.main import cli


def numbers() -> Iterator[Any]:
    """Options that take numbers, each with values that are out of its range."""
    context = click.Context(cli)
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None
        for option in command.params:
            kind = option.type
            wrong = ["x", "", "nan", "-1"]
            if isinstance(kind, click.IntRange | click.FloatRange):
                wrong += ["1.5", "inf"] if isinstance(kind, click.IntRange) else []
                if kind.min is not None:
                    wrong.append(str(kind.min if kind.min_open else kind.min - 1))
                if kind.max is not None:
                    wrong.append(str(kind.max if kind.max_open else kind.max + 1))
            elif kind.name not in ("prune", "prunes"):
                what = f"{name} {option.opts[0]}: numbers without a range"
                assert not isinstance(kind, type(click.INT) | type(click.FLOAT)), what
                continue
            yield pytest.param(name, option.opts[0], wrong, id=f"{name} {option.opts[0]}")


@pytest.mark.parametrize(("name", "option", "wrong"), list(numbers()))
def test_what_is_out_of_range_is_refused(
    run: Callable[..., Any], name: str, option: str, wrong: list[str]
) -> None:
    for value in wrong:
        complaint = run(name, option, value).complaint()
        assert option in complaint, f"{value!r}: {complaint}"
