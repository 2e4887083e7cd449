"""`agents`: look at agents, and decide what they may do."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cpctl import completion
from cpctl.agent_kinds import AGENT
from cpctl.commands import get, join_tokens_and_guards, options, providers
from cpctl.output import Format, say
from cpctl.session import SESSION

agents = typer.Typer(help="Agents: list, show, watch, drain, approve and more.", no_args_is_help=True)
agents.add_typer(join_tokens_and_guards.guards, name="guards")
agents.add_typer(join_tokens_and_guards.join_tokens, name="join-tokens")
agents.add_typer(providers.providers, name="providers")
agents.command("summary")(providers.summary)
Name = Annotated[str, typer.Argument(metavar="NAME", autocompletion=completion.agents)]
Environment = Annotated[str, typer.Option(help="Only agents of this environment.")]


@agents.command("list")
def list_agents(
    *,
    environment: Environment = "",
    state: options.State = "",
    service_type: options.ServiceType = "",
    selector: options.Selector = "",
    search: options.Search = "",
    sort: options.Sort = "",
    output: options.Output = Format.TABLE,
    no_headers: options.NoHeaders = False,
    limit: options.Limit = None,
) -> None:
    """List agents.

    \b
    cpctl agents list --state unavailable
    cpctl agents list -l "team=ml,region in (eu,us)" --sort -state_since
    """
    query = {
        **{"environment": environment, "health_status": state, "service_type": service_type},
        **{"selector": selector, "q": search, "sort": sort},
    }
    get.list_of(AGENT, query, output, headers=not no_headers, limit=limit)


@agents.command("watch")
def watch_agents(*, environment: Environment = "", output: options.Output = Format.TABLE) -> None:
    """List agents, and go on with those that change.

    \b
    cpctl agents watch --environment prod-eu-west-1
    """
    get.get(kind="agents", environment=environment, output=output, watch=True)


@agents.command("show")
@agents.command("get", hidden=True)
@agents.command("describe", hidden=True)
def show_agent(name: Name, *, output: options.Output = Format.YAML) -> None:
    """Show everything about one agent.

    \b
    cpctl agents show prod-eu-1
    """
    get.describe(kind="agents", name=name, output=output)


@agents.command()
def drain(
    name: Name,
    *,
    reason: Annotated[str, typer.Option(help="Why; the agent is told.")],
    until: Annotated[str, typer.Option(help="When it ends by itself, as an RFC 3339 time.")] = "",
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Give an agent no more work. It outlives restarts and silence, and ends with `resume`.

    \b
    cpctl agents drain prod-eu-1 --reason "Kernel update"
    """
    body = {"reason": reason, **({"until": until} if until else {})}
    _decide("drain", name, body, options.Decision(message, dry_run, yes), output)


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
    """Set how long an agent counts as alive after a heartbeat, or unset it.

    \b
    cpctl agents set-lease prod-eu-1 1800
    """
    _decide("set-lease", name, {"lease_seconds": seconds}, options.Decision(message, dry_run, yes), output)


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
    terms = options.Decision(message, dry_run, yes)
    lease = f"{seconds} s" if seconds else "the default"
    terms.ask(f"Set the lease of agents in {environment} to {lease}?")
    body = {"environment": environment, "lease_seconds": seconds}
    SESSION.api().post("agents:set-environment-lease", body, query=terms.query())
    terms.tell(f"The lease of agents in {environment} is {lease}.")


@agents.command()
def resume(
    name: Name,
    *,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Give a drained agent work again.

    \b
    cpctl agents resume prod-eu-1
    """
    _decide("resume", name, None, options.Decision(message, dry_run, yes), output)


@agents.command()
def approve(
    name: Name,
    *,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Let an agent in that waits for it.

    \b
    cpctl agents approve prod-eu-2
    """
    _decide("approve", name, None, options.Decision(message, dry_run, yes), output)


@agents.command()
def deregister(
    name: Name,
    *,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Say goodbye for an agent. It may come back.

    \b
    cpctl agents deregister prod-eu-2
    """
    _decide("deregister", name, None, options.Decision(message, dry_run, yes), output)


@agents.command()
def retire(
    name: Name,
    *,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Send an agent away. Its token ends.

    \b
    cpctl agents retire prod-eu-3 -m "Hardware is returned"
    """
    _decide("retire", name, None, options.Decision(message, dry_run, yes), output)


@agents.command()
def rotate(
    name: Name,
    *,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Give an agent a new token, and print it. It is shown once.

    \b
    cpctl agents rotate prod-eu-1 --yes > agent.token
    """
    terms = options.Decision(message, dry_run, yes)
    done = _sent("rotate", name, None, terms)
    if dry_run:
        return terms.tell("a new token.")
    return say(done["token"])


@agents.command()
def remove(
    name: Name,
    *,
    force: Annotated[bool, typer.Option("--force", help="Even if it has not left.")] = False,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Forget an agent that has left.

    \b
    cpctl agents remove prod-eu-3
    """
    terms = options.Decision(message, dry_run, yes)
    api = SESSION.api()
    agent = get.find(api, AGENT, name)
    terms.ask(f"Remove {agent['name']}?")
    api.send("DELETE", f"agents/{agent['agent_id']}", query={**terms.query(), "force": force})
    terms.tell(f"{agent['name']} is removed.")


def _decide(verb: str, name: str, body: Any, terms: options.Decision, how: Format) -> None:
    get.show(AGENT, [_sent(verb, name, body, terms)], how)


def _sent(verb: str, name: str, body: Any, terms: options.Decision) -> Any:
    api = SESSION.api()
    agent = get.find(api, AGENT, name)
    terms.ask(f"{verb.capitalize()} {agent['name']}, which is {agent['health_status']}?")
    return api.post(f"agents/{agent['agent_id']}:{verb}", body, query=terms.query()).json()
