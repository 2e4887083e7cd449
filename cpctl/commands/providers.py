"""`agents providers` and `agents summary`: what agents can do, and how many there are."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cpctl import completion
from cpctl.agent_kinds import AGENT
from cpctl.columns import Kind, field, moment
from cpctl.commands import change_options, get, options
from cpctl.output import Format, document, listing, say
from cpctl.paths import segment
from cpctl.session import SESSION

providers = typer.Typer(help="Service providers of an agent.", no_args_is_help=True)
Agent = Annotated[str, typer.Argument(metavar="AGENT", autocompletion=completion.agents)]
Provider = Annotated[str, typer.Argument(metavar="PROVIDER", help="Its id.")]
_PROVIDERS = (
    field("ID"),
    field("SERVICE", "service_type"),
    field("STATUS"),
    field("ENDPOINT"),
    field("REASON", "status_reason", wide=True),
    moment("SINCE", "status_since", wide=True),
)
_HISTORY = (
    moment("AT", "at"),
    field("FROM", "old_status"),
    field("TO", "new_status"),
    field("REASON"),
    field("ACTOR", wide=True),
)
_ENVIRONMENTS = (field("ENVIRONMENT"), field("AGENTS", "total"), field("STATES"))


@providers.command("list")
def list_providers(
    agent: Agent,
    *,
    output: options.Output = Format.TABLE,
    no_headers: options.NoHeaders = False,
) -> None:
    """List the providers of an agent.

    \b
    cpctl agents providers list prod-eu-1
    """
    get.list_of(_kind(agent), {}, output, headers=not no_headers)


@providers.command("show")
def show_provider(agent: Agent, provider: Provider, *, output: options.Output = Format.YAML) -> None:
    """Show everything about one provider.

    \b
    cpctl agents providers show prod-eu-1 019a9f5e-7c00-7000-8000-000000000031
    """
    found = get.find(SESSION.api(), _kind(agent), provider)
    if output.is_whole:
        say(*document(found, output))
    else:
        get.show(_kind(agent), [found], output)


@providers.command("history")
def provider_history(
    agent: Agent,
    provider: Provider,
    *,
    output: options.Output = Format.TABLE,
    no_headers: options.NoHeaders = False,
) -> None:
    """List how the status of a provider changed.

    \b
    cpctl agents providers history prod-eu-1 019a9f5e-7c00-7000-8000-000000000031
    """
    path = f"{change_options.place_of(_kind(agent), provider)}/history"
    get.list_of(Kind("changes", path, _HISTORY, key="at"), {}, output, headers=not no_headers)


@providers.command("remove")
def remove_provider(
    agent: Agent,
    provider: Provider,
    *,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Forget a provider. Its agent may register it again.

    \b
    cpctl agents providers remove prod-eu-1 019a9f5e-7c00-7000-8000-000000000031
    """
    terms = options.Decision(message, dry_run, yes)
    change_options.take_back(
        change_options.place_of(_kind(agent), provider), f"the provider {provider}", terms
    )


def summary(*, output: options.Output = Format.TABLE, no_headers: options.NoHeaders = False) -> None:
    """Count agents by environment and state.

    \b
    cpctl agents summary
    """
    found: Any = SESSION.api().get("agents:summary").json()
    if output.is_whole:
        return say(*document(found, output))
    rows = [_row("all", found), *(_row(one["environment"], one) for one in found["environments"])]
    lines = listing(
        _ENVIRONMENTS,
        rows,
        how=output,
        name_of=lambda one: str(one["environment"]),
        headers=not no_headers,
    )
    return say(*lines)


def _row(environment: str, counted: Any) -> dict[str, Any]:
    states = ", ".join(f"{count} {state}" for state, count in counted["states"].items())
    return {"environment": environment, "total": counted["total"], "states": states}


def _kind(agent: str) -> Kind:
    found = agent if get.is_id(agent) else get.find(SESSION.api(), AGENT, agent)["agent_id"]
    return Kind("providers", f"{AGENT.path}/{segment(found)}/providers", _PROVIDERS, key="id")
