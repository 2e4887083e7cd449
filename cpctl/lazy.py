"""Commands by name. Each is imported and built only when it is run or completed.

Building all of them for `--help` takes as long as starting Python and importing typer.
"""

from __future__ import annotations

import os
from copy import copy
from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup


class CommandEntry(NamedTuple):
    """A command's module and attribute, and its text in `--help`."""

    module: str
    attribute: str
    help: str


COMMANDS = {
    "get": CommandEntry("get", "get", "List objects, or get one by name."),
    "describe": CommandEntry("get", "describe", "Show all details of one object."),
    "create": CommandEntry("verbs", "create", "Create an object of any kind."),
    "delete": CommandEntry("verbs", "delete", "Delete an object of any kind."),
    "helm-values": CommandEntry(
        "helm_values", "helm_values", "Print the effective values of a scope as values of Flyte's Helm chart."
    ),
    "pod-preview": CommandEntry(
        "pod_preview", "pod_preview", "Print the pod of a task, with the configuration in effect."
    ),
    "cluster-resources": CommandEntry(
        "cluster_resources", "cluster_resources", "Print the cluster resources of a project and domain."
    ),
    "explain": CommandEntry("explain", "explain", "Explain the effective values at a scope."),
    "effective": CommandEntry(
        "effective",
        "effective",
        "Show the effective values at a scope, follow them, and keep signed snapshots of them.",
    ),
    "diff": CommandEntry("apply", "diff", "Show the changes that `apply` would make."),
    "apply": CommandEntry("apply", "apply", "Apply documents in one transaction."),
    "edit": CommandEntry("edit", "edit", "Edit a scope's document in $VISUAL or $EDITOR."),
    "history": CommandEntry("history", "history", "List the versions of an override, or all revisions."),
    "blame": CommandEntry("history", "blame", "Show who last changed each value of an override, and when."),
    "rollback": CommandEntry("history", "rollback", "Roll back to a version or revision."),
    "export": CommandEntry("export_import", "export", "Export overrides, types and guard rails as YAML."),
    "import": CommandEntry("export_import", "imports", "Import overrides from Flyte."),
    "overrides": CommandEntry(
        "overrides_and_types", "overrides", "Delete and compare overrides, and manage their source."
    ),
    "projects": CommandEntry("scopes", "projects", "List, create and update projects."),
    "domains": CommandEntry("scopes", "domains", "List and create domains."),
    "resource-types": CommandEntry(
        "overrides_and_types", "resource_types", "Create, update, delete and restore resource types."
    ),
    "changes": CommandEntry(
        "scheduled_changes", "changes", "Schedule changes of overrides, and let changes expire."
    ),
    "freezes": CommandEntry("freezes", "freezes", "Declare, change and end freezes of overrides."),
    "approval-policies": CommandEntry(
        "approval_policies", "approval_policies", "Require approvals for changes of overrides."
    ),
    "change-requests": CommandEntry(
        "change_requests", "change_requests", "Request changes of overrides, approve and publish them."
    ),
    "guard-rails": CommandEntry("overrides_and_types", "guard_rails", "Set, delete and restore guard rails."),
    "agents": CommandEntry("agents", "agents", "List, show, watch, drain, approve and retire agents."),
    "resources": CommandEntry(
        "resources",
        "resources",
        "Request resources from agents, wait for them, cancel, retry and delete them.",
    ),
    "operations": CommandEntry("operations", "operations", "List, show, await and cancel operations."),
    "dead-letters": CommandEntry(
        "dead_letters", "dead_letters", "List messages that nobody could handle, replay and discard them."
    ),
    "agent-configs": CommandEntry(
        "agent_configs", "agent_configs", "Publish and preview agent configurations, manage their bundles."
    ),
    "jobs": CommandEntry(
        "stored_jobs", "jobs", "Manage jobs, their secrets and runs, and see what a run gets."
    ),
    "plugins": CommandEntry(
        "plugins", "plugins", "Release plugins on the server, or install its plugins on this machine."
    ),
    "task-types": CommandEntry(
        "task_types_and_audit", "task_types", "List task types and the agents that serve them."
    ),
    "events": CommandEntry("events_and_wait", "events", "List events, newest first."),
    "pools": CommandEntry("pools", "pools", "Manage pools and their limits, and lease units."),
    "sinks": CommandEntry("sinks", "sinks", "Manage receivers of events: test, pause, replay, secrets."),
    "deliveries": CommandEntry(
        "sink_deliveries", "deliveries", "List deliveries of events, retry and discard them."
    ),
    "listen": CommandEntry(
        "listen", "listen", "Forward events to a receiver under development, signed as webhooks are."
    ),
    "notify": CommandEntry(
        "notifications", "notify", "List and acknowledge alerts, manage rules and channels."
    ),
    "wait": CommandEntry("events_and_wait", "wait", "Wait until a field has a value."),
    "audit": CommandEntry("task_types_and_audit", "audit", "List audit records, newest first."),
    "principals": CommandEntry("principals", "principals", "List, create, disable and enable principals."),
    "tokens": CommandEntry("principals", "tokens", "List, create and revoke tokens."),
    "sessions": CommandEntry("sessions", "sessions", "List and end console sessions."),
    "teams": CommandEntry("teams", "teams", "Manage teams and their members."),
    "roles": CommandEntry("roles", "roles", "Grant and revoke roles, and manage custom roles."),
    "access": CommandEntry("permissions", "access", "Check permissions: yours, and everybody's."),
    "clients": CommandEntry("clients", "clients", "Manage OAuth clients and their secrets."),
    "signing-keys": CommandEntry("identities", "signing_keys", "List and rotate keys that sign tokens."),
    "issuers": CommandEntry("issuers", "issuers", "Manage issuers whose tokens workloads exchange."),
    "identity-providers": CommandEntry(
        "identity_providers", "identity_providers", "Manage OpenID providers at which people log in."
    ),
    "identities": CommandEntry(
        "identities", "identities", "List, link and unlink accounts at identity providers."
    ),
    "login": CommandEntry("access", "login", "Log in to a server."),
    "logout": CommandEntry("access", "logout", "Log out of the current context."),
    "token": CommandEntry("access", "token", "Print a valid access token."),
    "whoami": CommandEntry("access", "whoami", "Show the current principal and its roles."),
    "can-i": CommandEntry("access", "can_i", "Check whether an action is allowed."),
    "config": CommandEntry("access", "config", "Manage contexts: servers and tokens."),
    "doctor": CommandEntry(
        "doctor", "doctor", "Check configuration, address, clock, versions and permissions."
    ),
    "debug": CommandEntry("debug", "debug", "Collect what is needed to find a fault."),
    "version": CommandEntry("version", "version", "Print the versions of cpctl and of the server."),
    "completion": CommandEntry("completion", "completion", "Print the completion script of a shell."),
}

# Other names of commands, which `--help` does not list.
ALIASES = {"plugin": "plugins"}
# Other names of verbs in every group that has the first of a line.
_VERBS = (("list", "ls"), ("show", "get", "describe"), ("get", "show", "describe"), ("delete", "rm"))


class LazyGroup(TyperGroup):
    """A command group that builds its commands on demand."""

    def list_commands(self, ctx: Any) -> list[str]:
        from cpctl import extensions

        return [*COMMANDS, *(name for name in extensions.installed() if name not in COMMANDS)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        cmd_name = ALIASES.get(cmd_name, cmd_name)
        if cmd_name in COMMANDS and cmd_name not in self.commands:
            self.commands[cmd_name] = build(cmd_name)
        return self.commands.get(cmd_name) or _described_extension(ctx, cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if ALIASES.get(args[0], args[0]) not in COMMANDS:
            _run_extension(ctx, args)
            # To suggest the nearest name for a mistyped one.
            self.commands.update({name: self.get_command(ctx, name) for name in COMMANDS})
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, listed.help) for name, listed in COMMANDS.items()])
        if names := self.list_commands(ctx)[len(COMMANDS) :]:
            with formatter.section("Extensions"):
                formatter.write_dl([(name, f"The program cpctl-{name}.") for name in names])


def _described_extension(ctx: Any, name: str) -> Any:
    """Return what completion shows of an extension; None if there is none of that name."""
    from cpctl import extensions

    if not ctx.resilient_parsing or name not in extensions.installed():
        return None
    return TyperCommand(name, help=f"The program cpctl-{name}.")


def _run_extension(ctx: Any, args: list[str]) -> None:
    """Run the program on the PATH that these words name, if there is one."""
    from cpctl import extensions

    program, words = extensions.program_of(args)
    # Completion resolves commands too.
    if program and not ctx.resilient_parsing:
        extensions.run(program, args[words:], extensions.variables(ctx.params, os.environ))


def build(name: str) -> Any:
    """Return the command that typer builds from a function or group."""
    listed = COMMANDS[name]
    command = getattr(import_module(f"cpctl.commands.{listed.module}"), listed.attribute)
    holder = typer.Typer(rich_markup_mode=None, add_completion=False)
    # With a callback, typer also builds a group for a single command.
    holder.callback()(lambda: None)
    if isinstance(command, typer.Typer):
        holder.add_typer(command, name=name)
    else:
        holder.command(name)(command)
    group: Any = typer.main.get_command(holder)
    from cpctl.commands.output_options import with_jq
    from cpctl.global_options import with_global_options

    return _with_usual_verbs(with_global_options(with_jq(group.commands[name])))


def _with_usual_verbs(command: Any) -> Any:
    """The group, and all below it, where usual verbs mean the same as those that `--help` lists."""
    commands = getattr(command, "commands", {})
    for below in [*commands.values()]:
        _with_usual_verbs(below)
    for verb, *others in _VERBS:
        for other in others:
            if verb in commands and other not in commands:
                commands[other] = copy(commands[verb])
                commands[other].hidden = True
    return command
