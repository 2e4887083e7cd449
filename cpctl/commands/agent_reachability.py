"""The command `agents test`: whether an agent can be reached."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cpctl import completion
from cpctl.agent_kinds import AGENT
from cpctl.columns import Kind, field, timestamp
from cpctl.commands import get, options
from cpctl.errors import Failed
from cpctl.output import Format, document, note, say
from cpctl.session import SESSION

if TYPE_CHECKING:
    from cpctl.client import Api

_CHECK = Kind(
    "checks",
    "",
    (field("CHECK", "name"), field("STATUS"), timestamp("AT", "at"), field("MESSAGE")),
    key="name",
)
_PAUSE_SECONDS = 1.0
_Name = Annotated[str, typer.Argument(metavar="NAME", autocompletion=completion.agents)]


def reachability(
    name: _Name,
    *,
    timeout: Annotated[
        int, typer.Option(min=0, help="Seconds to wait for a heartbeat. 0: what is known at present counts.")
    ] = 60,
    output: options.Output = Format.TABLE,
    no_headers: options.NoHeaders = False,
) -> None:
    """Test whether an agent can be reached: wait for a heartbeat, and ask NATS whether it gets requests.

    Exit code 1 unless the agent is reachable.

    \b
    cpctl agents test prod-eu-1 --timeout 5
    cpctl agents test prod-eu-1 --timeout 0
    """
    api = SESSION.api()
    agent = get.find(api, AGENT, name)
    outcome = _outcome(api, f"agents/{agent['agent_id']}/reachability", timeout)
    if output.is_whole:
        say(*document(outcome, output))
    else:
        get.show(_CHECK, outcome["checks"], output, headers=not no_headers)
    if outcome["status"] != "reachable":
        raise Failed(f"{agent['name']} is {_WORDS[outcome['status']]}.", hint=f"cpctl agents show {name}")


_WORDS = {"unreachable": "unreachable", "unknown": "not known to be reachable"}


def _outcome(api: Api, path: str, timeout: int) -> Any:
    """Return the outcome of a test that begins now, at the latest after `timeout` seconds."""
    outcome = api.get(path).json()
    if not timeout:
        return outcome
    since, ends = outcome["tested_at"], time.monotonic() + timeout
    note("Waiting for a heartbeat ...")
    while not (outcome := api.get(path, {"since": since}).json())["finished"]:
        if time.monotonic() >= ends:
            break
        time.sleep(_PAUSE_SECONDS)
    return outcome
