"""The commands `agents providers` and `agents summary`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cpctl import completion
from cpctl.agent_kinds import AGENT
from cpctl.columns import Kind, field, timestamp
from cpctl.commands import change_options, get, options
from cpctl.output import Column, Format, document, listing, say
from cpctl.paths import segment
from cpctl.session import SESSION

providers = typer.Typer(help="Manage service providers of an agent.", no_args_is_help=True)
Agent = Annotated[str, typer.Argument(metavar="AGENT", autocompletion=completion.agents)]
Provider = Annotated[str, typer.Argument(metavar="PROVIDER", help="Id of the provider.")]
_PROVIDERS = (
    field("ID"),
    field("SERVICE", "service_type"),
    field("STATUS"),
    field("ENDPOINT"),
    field("REASON", "status_reason", wide=True),
    timestamp("SINCE", "status_since", wide=True),
)
_HISTORY = (
    timestamp("AT", "at"),
    field("FROM", "old_status"),
    field("TO", "new_status"),
    field("REASON"),
    field("ACTOR", wide=True),
)
_VERSIONS = (
    field("COMPONENT"),
    field("VERSION"),
    field("AGENTS"),
    field("LIVE", "live_agents"),
    Column("SHARE", lambda version: f"{version['share']:.1%}"),
    field("BEHIND"),
)
_ENVIRONMENTS = (field("ENVIRONMENT"), field("AGENTS", "total"), field("STATES"))


@providers.command("list")
def list_providers(
    agent: Agent,
    *,
    output: options.Output = Format.TABLE,
    no_headers: options.NoHeaders = False,
) -> None:
    """List the service providers of an agent.

    \b
    cpctl agents providers list prod-eu-1
    """
    get.list_of(_kind(agent), {}, output, headers=not no_headers)


@providers.command("show")
def show_provider(agent: Agent, provider: Provider, *, output: options.Output = Format.YAML) -> None:
    """Show all details of a provider.

    \b
    cpctl agents providers show prod-eu-1 019a9f5e-7c00-7000-8000-000000000031
    """
    row = get.find(SESSION.api(), _kind(agent), provider)
    if output.is_whole:
        say(*document(row, output))
    else:
        get.show(_kind(agent), [row], output)


@providers.command("history")
def provider_history(
    agent: Agent,
    provider: Provider,
    *,
    output: options.Output = Format.TABLE,
    no_headers: options.NoHeaders = False,
) -> None:
    """List the status changes of a provider.

    \b
    cpctl agents providers history prod-eu-1 019a9f5e-7c00-7000-8000-000000000031
    """
    path = f"{change_options.path_of(_kind(agent), provider)}/history"
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
    """Delete a provider. Its agent can register it again.

    \b
    cpctl agents providers remove prod-eu-1 019a9f5e-7c00-7000-8000-000000000031
    """
    change = options.ChangeOptions(message, dry_run, yes)
    change_options.delete_by_id(
        change_options.path_of(_kind(agent), provider),
        f"the provider {provider}",
        change,
        verb="Delete",
        done="deleted",
    )


def summary(*, output: options.Output = Format.TABLE, no_headers: options.NoHeaders = False) -> None:
    """Count agents by environment and state.

    \b
    cpctl agents summary
    """
    counts: Any = SESSION.api().get("agents:summary").json()
    if output.is_whole:
        return say(*document(counts, output))
    rows = [
        _row("all", counts),
        *(_row(environment["environment"], environment) for environment in counts["environments"]),
    ]
    lines = listing(
        _ENVIRONMENTS,
        rows,
        how=output,
        name_of=lambda environment: str(environment["environment"]),
        headers=not no_headers,
    )
    return say(*lines)


def versions(
    *,
    environment: Annotated[str, typer.Option(help="Only agents of this environment.")] = "",
    output: options.Output = Format.TABLE,
    no_headers: options.NoHeaders = False,
) -> None:
    """Count agents by the versions that they report. BEHIND: how many newer versions are in use.

    \b
    cpctl agents versions
    cpctl agents versions --environment prod-eu -o json
    """
    answer = SESSION.api().get("agents:versions", {"environment": environment}).json()
    if output.is_whole:
        return say(*document(answer, output))
    lines = listing(
        _VERSIONS,
        answer["items"],
        how=output,
        name_of=lambda version: f"{version['component']}/{version['version']}",
        headers=not no_headers,
    )
    return say(*lines)


def _row(environment: str, counted: Any) -> dict[str, Any]:
    states = ", ".join(f"{count} {state}" for state, count in counted["states"].items())
    return {"environment": environment, "total": counted["total"], "states": states}


def _kind(agent: str) -> Kind:
    agent_id = agent if get.is_id(agent) else get.find(SESSION.api(), AGENT, agent)["agent_id"]
    return Kind("providers", f"{AGENT.path}/{segment(agent_id)}/providers", _PROVIDERS, key="id")
