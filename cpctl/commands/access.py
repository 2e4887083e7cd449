"""The commands `login`, `logout`, `whoami`, `can-i` and `config`."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Annotated, Any

import typer

from cpctl import completion
from cpctl.columns import field
from cpctl.commands import options
from cpctl.commands.version import warn_if_apart
from cpctl.contexts import Context, config_path, read_token, save
from cpctl.errors import UsageError
from cpctl.exits import Exit
from cpctl.output import Column, Format, document, listing, say
from cpctl.scopes import scope_text
from cpctl.session import SESSION

config = typer.Typer(help="Manage contexts: servers and tokens.", no_args_is_help=True)
Name = Annotated[str, typer.Argument(metavar="NAME", autocompletion=completion.contexts)]
TokenFile = Annotated[str, typer.Option("--token-file", help="File with the token; - for standard input.")]
_COLUMNS = (
    Column("CURRENT", lambda item: "*" if item["current"] else ""),
    Column("NAME", lambda item: item["name"]),
    Column("SERVER", lambda item: item["server"]),
    Column("PRODUCTION", lambda item: item["production"]),
    Column("TOKEN", lambda item: "yes" if item["has_token"] else "no"),
    field("PLUGIN MODE", "plugin_mode", wide=True),
)


def login(
    *,
    server: Annotated[str, typer.Argument(metavar="URL", help="URL of the server.")],
    name: Annotated[
        str, typer.Option("--name", help="Name of the context. By default, that of --context, or default.")
    ] = "",
    token_file: TokenFile = "",
    browser: Annotated[bool, typer.Option("--browser", help="Log in in the browser.")] = False,
    device: Annotated[
        bool, typer.Option("--device", help="Show a code to enter in a browser elsewhere.")
    ] = False,
    client_id: Annotated[str, typer.Option(help="OAuth client. With --secret-file, log in as it.")] = "cpctl",
    secret_file: Annotated[str, typer.Option(help="File with the client's secret.")] = "",
    scope: Annotated[str, typer.Option(help="OAuth scopes, separated by spaces.")] = "all offline",
    production: Annotated[bool, typer.Option(help="Require typing its name for changes.")] = False,
) -> None:
    """Log in to a server.

    In the browser, with a code on another device, as a client, or with a token.

    A token is read from a file or a hidden prompt.

    \b
    cpctl login https://controlplane.example.com --browser
    cpctl login https://controlplane.example.com --device
    cpctl login http://localhost:8000 --token-file .data/admin.token
    """
    ways = [bool(token_file), browser, device, bool(secret_file)]
    if sum(ways) > 1:
        raise UsageError("Choose one of --browser, --device, --secret-file and --token-file.")
    name = name or SESSION.context_name() or "default"
    context = Context(name, server.rstrip("/"), production=production)
    if browser or device or secret_file:
        from cpctl.oauth.login import Way, log_in

        way = Way(client_id, scope, secret_file=secret_file, is_device=device)
        context = log_in(context, way, tell=SESSION.tell)
    else:
        context = replace(context, token=_token(token_file))
    who = SESSION.api(context).get("me").json()
    path = config_path()
    config_with_context = SESSION.config().with_context(context)
    save(replace(config_with_context, current=name), path)
    warn_if_apart(SESSION.api(context))
    SESSION.tell(f"Logged in to {context.server} as {who['name']}. Context {name!r} saved in {path}.")


def logout() -> None:
    """Log out of the current context.

    Its token is deleted, and revoked if it came from an OAuth login. A token that was saved with
    --token-file stays valid until it is revoked.

    \b
    cpctl logout
    """
    context = SESSION.chosen()
    if not context.name:
        raise UsageError("There is no context to log out from.")
    if context.login is not None:
        from cpctl.oauth.renewal import revoke

        revoke(context)
    save(SESSION.config().with_context(replace(context, token="", login=None)), config_path())
    SESSION.tell(f"Token of {context.name!r} deleted from the configuration.")


def whoami(output: options.Output = Format.TABLE) -> None:
    """Show the current principal and its roles.

    \b
    cpctl whoami
    """
    who = SESSION.api().get("me").json()
    if output.is_whole:
        return say(*document(who, output))
    if output is Format.NAME:
        return say(who["name"])
    say(f"{who['name']} ({who['kind']}) at {SESSION.chosen().server}")
    for grant in who["grants"]:
        limit = f", objects of team {grant['owned_by']}" if grant.get("owned_by") else ""
        say(f"  {grant['role']}: {scope_text(grant['scope'])}{limit}")
    if who.get("teams"):
        say(f"  teams: {', '.join(who['teams'])}")
    return None


def token() -> None:
    """Print a valid access token, for scripts and for `ExternalCommand` of Flyte's clients.

    \b
    cpctl token
    """
    context = SESSION.chosen()
    if not context.token:
        raise UsageError("The context has no token. Log in first.", hint="cpctl login URL --browser")
    say(context.token)


def can_i(
    *,
    action: Annotated[str, typer.Argument(metavar="ACTION", help="Action, such as override.write.")],
    project: options.Project = "",
    domain: options.Domain = "",
    workflow: options.Workflow = "",
    launch_plan: options.LaunchPlan = "",
    team: Annotated[str, typer.Option(help="Team that owns the object. Default: the platform.")] = "",
) -> None:
    """Check whether an action is allowed. Exits with 4 if not.

    \b
    cpctl can-i override.write -p flytesnacks
    cpctl can-i agent.write --team ml
    """
    scope = options.scope_of((project, domain, workflow, launch_plan))
    question = {"action": action, "scope": scope, **({"team": team} if team else {})}
    verdict = SESSION.api().post("me:can-i", question).json()
    say(f"{'yes' if verdict['allowed'] else 'no'}: {verdict['reason']}")
    if not verdict["allowed"]:
        raise typer.Exit(Exit.AUTH)


@config.command("get-contexts")
def get_contexts(output: options.Output = Format.TABLE, no_headers: options.NoHeaders = False) -> None:
    """List contexts, without their tokens.

    \b
    cpctl config get-contexts
    """
    saved = SESSION.config()
    items = [_context_row(context, current=saved.current) for context in saved.contexts.values()]
    for line in listing(
        _COLUMNS, items, how=output, name_of=lambda item: str(item["name"]), headers=not no_headers
    ):
        say(line)


@config.command("current-context")
def current_context() -> None:
    """Print the current context.

    \b
    cpctl config current-context
    """
    say(SESSION.chosen().name)


@config.command("use-context")
def use_context(name: Name) -> None:
    """Switch to a context.

    \b
    cpctl config use-context production
    """
    saved = SESSION.config()
    saved.named(name)
    save(replace(saved, current=name), config_path())
    SESSION.tell(f"Switched to {name!r}.")


@config.command("set-context")
def set_context(
    name: Name,
    server: Annotated[str, typer.Option(help="URL of the server.")] = "",
    token_file: TokenFile = "",
    production: Annotated[bool | None, typer.Option(help="Require typing its name for changes.")] = None,
    plugin_mode: Annotated[
        str | None, typer.Option(help="Mode of `cpctl plugins`: server or client; empty for none.")
    ] = None,
) -> None:
    """Create or update a context, without contacting the server.

    \b
    cpctl config set-context production --server https://controlplane.example.com --production
    """
    saved = SESSION.config()
    before = saved.contexts.get(name)
    if before is None and not server:
        raise UsageError(
            "A new context requires a server.", hint=f"cpctl config set-context {name} --server URL"
        )
    context = before or Context(name, "")
    if server and server.rstrip("/") != context.server:
        context = replace(context, server=server.rstrip("/"), token="")
    if token_file:
        context = replace(context, token=read_token(token_file))
    if production is not None:
        context = replace(context, production=production)
    if plugin_mode is not None:
        if plugin_mode not in ("", "server", "client"):
            raise UsageError(f"Unknown mode {plugin_mode!r} of plugins. Use server or client.")
        context = replace(context, plugin_mode=plugin_mode)
    save(replace(saved.with_context(context), current=saved.current or name), config_path())


@config.command("delete-context")
def delete_context(name: Name) -> None:
    """Delete a context and its token.

    \b
    cpctl config delete-context staging
    """
    save(SESSION.config().without(name), config_path())


def _context_row(context: Context, *, current: str) -> dict[str, Any]:
    return {
        "name": context.name,
        "server": context.server,
        "production": context.production,
        "current": context.name == current,
        "has_token": bool(context.token),
        "plugin_mode": context.plugin_mode,
    }


def _token(file: str) -> str:
    if file or SESSION.token_file:
        return read_token(file or SESSION.token_file)
    if SESSION.no_input or not sys.stdin.isatty():
        raise UsageError(
            "Cannot prompt for the token without a terminal.", hint="add --token-file FILE, or --token-file -"
        )
    import getpass

    return getpass.getpass("Token: ").strip()
