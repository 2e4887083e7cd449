"""The commands by name: each is imported and built only when somebody runs or completes it.

Building all of them for `--help` costs as much as starting Python and importing typer together.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer.core import TyperGroup


class Listed(NamedTuple):
    """Where a command is, and what `--help` says of it."""

    module: str
    attribute: str
    help: str


COMMANDS = {
    "get": Listed("get", "get", "List things, or show one."),
    "describe": Listed("get", "describe", "Show everything about one thing."),
    "explain": Listed("explain", "explain", "Show what applies at a scope, from where, and what lost."),
    "diff": Listed("apply", "diff", "Show what `apply` would change."),
    "apply": Listed("apply", "apply", "Set what documents say, all or nothing."),
    "edit": Listed("edit", "edit", "Edit the document of a scope in $VISUAL or $EDITOR."),
    "history": Listed("history", "history", "Show the versions of one override, or all revisions."),
    "blame": Listed("history", "blame", "Show who set each value of an override, and since when."),
    "rollback": Listed("history", "rollback", "Go back to a version or a revision."),
    "export": Listed("export_import", "export", "Write everything that is set, as YAML that `apply` takes."),
    "import": Listed("export_import", "imports", "Bring settings over from Flyte."),
    "overrides": Listed(
        "overrides_and_types", "overrides", "Overrides: delete, compare, and where they come from."
    ),
    "projects": Listed("scopes", "projects", "Projects: list, create, change."),
    "domains": Listed("scopes", "domains", "Domains: list, create."),
    "resource-types": Listed(
        "overrides_and_types", "resource_types", "Resource types: create, update, delete."
    ),
    "guard-rails": Listed("overrides_and_types", "guard_rails", "Guard rails: set, delete."),
    "agents": Listed("agents", "agents", "Agents: list, show, watch, drain, approve and more."),
    "agent-configs": Listed("agent_configs", "agent_configs", "Publish, preview, conflicts, bundles."),
    "task-types": Listed("task_types_and_audit", "task_types", "Task types, and which agents serve them."),
    "events": Listed("events_and_wait", "events", "Show what happened, the newest first."),
    "wait": Listed("events_and_wait", "wait", "Wait until a field has a value."),
    "audit": Listed("task_types_and_audit", "audit", "Show who did what."),
    "principals": Listed("principals", "principals", "Principals: list, create, switch off and on."),
    "tokens": Listed("principals", "tokens", "Tokens: list, create, revoke."),
    "sessions": Listed("sessions", "sessions", "Console sessions: list, end."),
    "roles": Listed("principals", "roles", "Roles: who has which where; grant, revoke."),
    "login": Listed("access", "login", "Keep a server and a token, after trying them."),
    "logout": Listed("access", "logout", "Forget the token of the context."),
    "whoami": Listed("access", "whoami", "Show who you are, and what you may do where."),
    "can-i": Listed("access", "can_i", "Ask whether you may do something."),
    "config": Listed("access", "config", "Contexts: which server, and who you are there."),
    "doctor": Listed("doctor", "doctor", "Check configuration, address, clock, versions and permissions."),
    "completion": Listed("completion", "completion", "Print the shell's completion script."),
}


class LazyGroup(TyperGroup):
    """Knows the names of its commands, and makes them one by one."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name in COMMANDS and cmd_name not in self.commands:
            self.commands[cmd_name] = build(cmd_name)
        return self.commands.get(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] not in COMMANDS:
            # Whoever mistyped a name is told the nearest of all.
            self.commands.update({name: self.get_command(ctx, name) for name in COMMANDS})
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, listed.help) for name, listed in COMMANDS.items()])


def build(name: str) -> Any:
    """The command, as typer makes it from a function or a group."""
    listed = COMMANDS[name]
    found = getattr(import_module(f"cpctl.commands.{listed.module}"), listed.attribute)
    holder = typer.Typer(rich_markup_mode=None, add_completion=False)
    # With a callback typer makes a group of what holds but one command.
    holder.callback()(lambda: None)
    if isinstance(found, typer.Typer):
        holder.add_typer(found, name=name)
    else:
        holder.command(name)(found)
    group: Any = typer.main.get_command(holder)
    from cpctl.commands.output_options import with_jq

    return with_jq(group.commands[name])
