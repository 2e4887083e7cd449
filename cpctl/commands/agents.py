"""The commands `agents`: list, show, drain, approve and retire agents."""

from __future__ import annotations

from typing import Annotated

import typer

from cpctl import completion
from cpctl.agent_kinds import AGENT
from cpctl.commands import (
    agent_bulk_changes,
    agent_lifecycle,
    agent_reachability,
    get,
    join_tokens_and_guards,
    nats_logins,
    options,
    providers,
)
from cpctl.output import Format, say
from cpctl.session import SESSION

agents = typer.Typer(help="List, show, watch, drain, approve and retire agents.", no_args_is_help=True)
agents.add_typer(join_tokens_and_guards.guards, name="guards")
agents.add_typer(join_tokens_and_guards.join_tokens, name="join-tokens")
agents.add_typer(providers.providers, name="providers")
agents.add_typer(nats_logins.nats_login, name="nats-login")
agents.add_typer(agent_bulk_changes.bulk, name="bulk")
agents.command("summary")(providers.summary)
agents.command("versions")(providers.versions)
agents.command("test")(agent_reachability.reachability)
agents.command("drain")(agent_lifecycle.drain)
agents.command("resume")(agent_lifecycle.resume)
agents.command("approve")(agent_lifecycle.approve)
agents.command("retire")(agent_lifecycle.retire)
Name = Annotated[str, typer.Argument(metavar="NAME", autocompletion=completion.agents)]
Environment = Annotated[str, typer.Option(help="Filter by environment.")]


@agents.command("list")
def list_agents(
    *,
    environment: Environment = "",
    team: options.Team = "",
    state: options.State = "",
    service_type: options.ServiceType = "",
    task_type: agent_bulk_changes.TaskType = "",
    selector: options.Selector = "",
    search: options.Search = "",
    sort: options.Sort = "",
    since: Annotated[str, typer.Option(help="Only agents whose state changed since then, such as 1h.")] = "",
    until: Annotated[str, typer.Option(help="Only agents with the same state since before then.")] = "",
    output: options.Output = Format.TABLE,
    no_headers: options.NoHeaders = False,
    limit: options.Limit = None,
) -> None:
    """List agents.

    \b
    cpctl agents list --state unavailable --since 1h
    cpctl agents list -l "team=ml,region in (eu,us)" --sort environment,-state_since
    """
    query = {
        **{"environment": environment, "team": team, "health_status": state},
        **{"service_type": service_type, "task_type": task_type},
        **{"selector": selector, "q": search, "sort": sort, "since": since, "until": until},
    }
    get.list_of(AGENT, query, output, headers=not no_headers, limit=limit)


@agents.command("watch")
def watch_agents(*, environment: Environment = "", output: options.Output = Format.TABLE) -> None:
    """List agents, then those that change.

    \b
    cpctl agents watch --environment prod-eu-west-1
    """
    get.get(kind="agents", environment=environment, output=output, watch=True)


@agents.command("show")
@agents.command("get", hidden=True)
@agents.command("describe", hidden=True)
def show_agent(name: Name, *, output: options.Output = Format.YAML) -> None:
    """Show all details of an agent.

    \b
    cpctl agents show prod-eu-1
    """
    get.describe(kind="agents", name=name, output=output)


@agents.command("set-lease")
def set_lease(
    name: Name,
    seconds: join_tokens_and_guards.LeaseSeconds = None,
    *,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Set or unset an agent's lease: how long it counts as alive after a heartbeat.

    \b
    cpctl agents set-lease prod-eu-1 1800
    """
    agent_lifecycle.decide(
        "set-lease", [name], {"lease_seconds": seconds}, options.ChangeOptions(message, dry_run, yes), output
    )


@agents.command("set-environment-lease")
def set_environment_lease(
    environment: Annotated[str, typer.Argument(metavar="ENVIRONMENT")],
    seconds: join_tokens_and_guards.LeaseSeconds = None,
    *,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Set the lease of an environment's agents, or unset it. An agent's own lease takes precedence.

    \b
    cpctl agents set-environment-lease prod-eu-west-1 1800
    """
    change = options.ChangeOptions(message, dry_run, yes)
    lease = f"{seconds} s" if seconds else "the default"
    change.ask(f"Set the lease of agents in {environment} to {lease}?")
    body = {"environment": environment, "lease_seconds": seconds}
    SESSION.api().post("agents:set-environment-lease", body, query=change.query())
    change.tell(f"Lease of agents in {environment}: {lease}.")


@agents.command()
def transfer(
    name: Name,
    team: Annotated[str, typer.Argument(metavar="[TEAM]", help="New owner. Default: the platform.")] = "",
    *,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Transfer an agent to a team, or to the platform.

    \b
    cpctl agents transfer prod-eu-1 ml
    """
    agent_lifecycle.decide(
        "transfer", [name], {"team": team or None}, options.ChangeOptions(message, dry_run, yes), output
    )


@agents.command()
def deregister(
    name: Name,
    *,
    force: Annotated[
        bool, typer.Option("--force", help="Also while it has resources, which nobody looks after then.")
    ] = False,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Deregister an agent. It can register again.

    \b
    cpctl agents deregister prod-eu-2
    """
    change = options.ChangeOptions(message, dry_run, yes)
    get.show(AGENT, [agent_lifecycle.perform("deregister", name, None, change, force=force)], output)


@agents.command()
def rotate(
    name: Name,
    *,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Create a new token for an agent and print it. It is shown only once.

    \b
    cpctl agents rotate prod-eu-1 --yes > agent.token
    """
    change = options.ChangeOptions(message, dry_run, yes)
    done = agent_lifecycle.perform("rotate", name, None, change)
    if dry_run:
        return change.tell("a new token would be created.")
    return say(done["token"])


@agents.command("revoke-tokens")
def revoke_tokens(
    name: Name,
    *,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Revoke all tokens of an agent: its requests are refused at once. With `rotate`, it can return.

    \b
    cpctl agents revoke-tokens prod-eu-1 --dry-run
    """
    change = options.ChangeOptions(message, dry_run, yes)
    done = agent_lifecycle.perform("revoke-tokens", name, None, change)
    for token in done["tokens"]:
        say(f"{token['hint']}... last used {token['last_used_at'] or 'never'}")
    change.tell(f"Tokens of {name} revoked: {len(done['tokens'])}.")


@agents.command()
def remove(
    name: Name,
    *,
    force: Annotated[bool, typer.Option("--force", help="Also if it is not retired.")] = False,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Delete the record of a retired agent.

    \b
    cpctl agents remove prod-eu-3
    """
    change = options.ChangeOptions(message, dry_run, yes)
    api = SESSION.api()
    agent = get.find(api, AGENT, name)
    change.ask(f"Remove {agent['name']}?")
    api.send("DELETE", f"agents/{agent['agent_id']}", query={**change.query(), "force": force})
    change.tell(f"{agent['name']} removed.")
