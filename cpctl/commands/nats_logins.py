"""The commands `agents nats-login`: an agent's own user of NATS."""

from __future__ import annotations

from typing import Annotated

import typer

from cpctl import completion
from cpctl.agent_kinds import AGENT
from cpctl.commands import change_options, get, options
from cpctl.output import Format, document, say
from cpctl.session import SESSION

nats_login = typer.Typer(
    help="Issue and revoke the user with which an agent connects to NATS.", no_args_is_help=True
)
Name = Annotated[str, typer.Argument(metavar="NAME", autocompletion=completion.agents)]


@nats_login.command("issue")
def issue(
    name: Name,
    *,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.YAML,
) -> None:
    """Issue a login and print it. It is shown only once, and replaces the agent's former one.

    \b
    cpctl agents nats-login issue prod-eu-1 --yes > nats.yaml
    """
    change = options.ChangeOptions(message, dry_run, yes)
    api = SESSION.api()
    agent = get.find(api, AGENT, name)
    change.ask(f"Issue a NATS login for {agent['name']}, and replace its former one?")
    path = f"agents/{agent['agent_id']}:issue-nats-login"
    login = api.post(path, query=change.query()).json()
    if dry_run:
        return change.tell("a new login would be issued.")
    whole = output if output.is_whole else Format.YAML
    return say(*document(login, whole))


@nats_login.command("revoke")
def revoke(
    name: Name,
    *,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Revoke an agent's login. NATS closes its connection.

    \b
    cpctl agents nats-login revoke prod-eu-1
    """
    agent = get.find(SESSION.api(), AGENT, name)
    change_options.delete_by_id(
        f"agents/{agent['agent_id']}/nats-login",
        f"the NATS login of {agent['name']}",
        options.ChangeOptions(message, dry_run, yes),
        verb="Revoke",
        done="revoked",
    )
