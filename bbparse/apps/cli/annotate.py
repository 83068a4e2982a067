"""``bbparse annotate``: annotate a treebank in the browser."""

from __future__ import annotations

import ipaddress
import secrets
from contextlib import suppress
from pathlib import Path

import click

from bbparse.apps.cli import options
from bbparse.apps.cli.common import FILE, OutputFile, command, flag, needing_serve, option, tell
from bbparse.models import MODELS
from bbparse.runtime.errors import BBParseError, TreebankError


@command()
@click.argument("treebank", type=FILE)
@options.model
@options.valid
@options.spans
@options.edges
@option("--output -o", "Save to this file; TREEBANK stays unchanged.", OutputFile(streams=False))
@flag("--suggest-only", "Fix the arcs of TREEBANK, and save only arcs that are fixed or accepted.")
@options.host
@options.port(8081)
def annotate(
    treebank: str,
    model: str,
    factors: list[str],
    output: str | None,
    host: str,
    port: int,
    suggest_only: bool,
    **constraints: str | None,
) -> None:
    """Annotate TREEBANK on a page in the browser, until Ctrl-C.

    When you fix an arc, the parser finds the best tree with it. Each step is saved at once, and is
    recorded in a journal beside the file, which also keeps fixed arcs for the next session. Words
    without a head in TREEBANK get one; the heads of incomplete sentences are fixed, while complete
    trees are drafts. If --host is not local, the URL contains a secret token.

    \b
    Examples:
      bbparse annotate treebank.conllu
      bbparse annotate treebank.conllu --model hungarian.model --output done.conllu
      bbparse annotate gold.conllu --suggest-only
    """
    with needing_serve():
        from bbparse.apps.annotate.http import Server
        from bbparse.apps.serve.http import listening, url_of
    from bbparse.apps.annotate.completion import Completer
    from bbparse.apps.annotate.marks import Marks
    from bbparse.apps.annotate.treebank import Treebank
    from bbparse.parser.parser import Parser
    from bbparse.treebank import Sentence

    if treebank == "-":
        raise TreebankError("standard input: cannot be annotated: name a file")
    with listening(host, port) as listener:
        address = listener.getsockname()[0].partition("%")[0]
        token = "" if ipaddress.ip_address(address).is_loopback else secrets.token_urlsafe(16)
        parser = Parser.load(MODELS.path(model), factors)
        completer = Completer(parser, **constraints)
        with suppress(BBParseError):  # errors are reported for sentences of the treebank
            completer.best(Sentence.from_words(("A", "word", ".")), Marks())  # compile now
        sentences = Treebank(
            Path(treebank), completer, Path(output) if output else None, suggest_only=suggest_only
        )
        for line in sentences.messages:
            tell(line)
        url = f"{url_of(listener, host)}/{token and token + '/'}"
        server = Server(sentences, listener, token, lambda: tell(f"on {url}"))
        server.serve_all()
