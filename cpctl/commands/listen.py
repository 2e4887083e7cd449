"""The command `listen`: events as signed webhooks at an address of the developer's machine."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from cpctl import event_stream
from cpctl.commands import options
from cpctl.errors import UsageError
from cpctl.forwarding import Forwarder, check_address, is_selected, key_of, name_of, new_secret
from cpctl.output import GAP, note, paint_for, say
from cpctl.session import SESSION

CLOUDEVENTS = {"format": "cloudevents"}
After = Annotated[int | None, typer.Option(min=0, help="Events after this number, oldest first.")]


def listen(
    *,
    forward: Annotated[str, typer.Option(help="Address of your receiver, on this machine.")],
    types: Annotated[
        list[str] | None,
        typer.Option("--types", "--type", help="Event types or kinds, such as agent.*; commas separate."),
    ] = None,
    since: options.Since = "",
    after: After = None,
    secret_file: Annotated[
        str, typer.Option(help="File with the signing secret; - for standard input. Default: a new one.")
    ] = "",
    allow_remote: Annotated[
        bool, typer.Option("--allow-remote", help="Forward to other machines too.")
    ] = False,
) -> None:
    """Forward events to a receiver under development, signed as webhooks are.

    Each event is sent once: a webhook would be tried again. Ctrl-C ends it.

    \b
    cpctl listen --forward http://localhost:3000/hook --types 'agent.*'
    """
    check_address(forward, allow_remote=allow_remote)
    secret = _secret(secret_file)
    forwarder = Forwarder(forward, key_of(secret))
    api = SESSION.api()
    if after is None:
        after = 0 if since else event_stream.last_seq(api)
    if not secret_file:
        say(f"Secret: {secret}")
    note(f"Forwarding events to {forward}. Ctrl-C ends it.")
    sys.stdout.flush()
    names = [name.strip() for text in types or () for name in text.split(",") if name.strip()]
    for event in event_stream.watch(api, {**CLOUDEVENTS, "since": since}, after=after):
        if is_selected(name_of(event), names):
            _forward(forwarder, event)


def _forward(forwarder: Forwarder, event: Any) -> None:
    answer = forwarder.forward(event)
    paint = paint_for(SESSION.color, sys.stdout)
    result = paint("green" if answer.is_success else "red", str(answer))
    say(GAP.join((event["time"], event["cpseq"], name_of(event), event["subject"], result)))
    sys.stdout.flush()


def _secret(file: str) -> str:
    if not file:
        return new_secret()
    try:
        return (sys.stdin.read() if file == "-" else Path(file).read_text()).strip()
    except (OSError, UnicodeError) as error:
        raise UsageError(f"Cannot read {file}: {error}.") from error
