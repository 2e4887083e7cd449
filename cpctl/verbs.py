"""The verbs `create` and `delete`: `cpctl delete team ml` is `cpctl teams delete ml`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from typer.core import TyperGroup

from cpctl.errors import UsageError
from cpctl.kinds import kind_named

# Kind -> the command that does it. A kind that is missing cannot be created or deleted.
CREATE = {
    "projects": ("projects", "create"),
    "domains": ("domains", "create"),
    "resource-types": ("resource-types", "create"),
    "guard-rails": ("guard-rails", "set"),
    "override-changes": ("changes", "schedule"),
    "override-freezes": ("freezes", "declare"),
    "join-tokens": ("agents", "join-tokens", "create"),
    "data-planes": ("agent-configs", "planes", "set"),
    "agent-configs": ("agent-configs", "publish"),
    "pools": ("pools", "set"),
    "sinks": ("sinks", "create"),
    "notification-rules": ("notify", "create-rule"),
    "notification-channels": ("notify", "create-channel"),
    "principals": ("principals", "create"),
    "tokens": ("tokens", "create"),
    "teams": ("teams", "create"),
    "roles": ("roles", "create"),
    "role-bindings": ("roles", "grant"),
    "clients": ("clients", "create"),
    "issuers": ("issuers", "set"),
    "identity-providers": ("identity-providers", "set"),
    "identities": ("identities", "link"),
}
DELETE = {
    "overrides": ("overrides", "delete"),
    "override-changes": ("changes", "cancel"),
    "override-freezes": ("freezes", "end"),
    "resource-types": ("resource-types", "delete"),
    "guard-rails": ("guard-rails", "delete"),
    "agents": ("agents", "deregister"),
    "join-tokens": ("agents", "join-tokens", "revoke"),
    "data-planes": ("agent-configs", "planes", "remove"),
    "agent-config-clusters": ("agent-configs", "clusters", "remove"),
    "agent-configs": ("agent-configs", "delete"),
    "resources": ("resources", "delete"),
    "dead-letters": ("dead-letters", "discard"),
    "pools": ("pools", "delete"),
    "sinks": ("sinks", "delete"),
    "notification-rules": ("notify", "delete-rule"),
    "notification-channels": ("notify", "delete-channel"),
    "tokens": ("tokens", "revoke"),
    "sessions": ("sessions", "end"),
    "teams": ("teams", "delete"),
    "roles": ("roles", "delete"),
    "role-bindings": ("roles", "revoke"),
    "clients": ("clients", "delete"),
    "issuers": ("issuers", "delete"),
    "identity-providers": ("identity-providers", "delete"),
    "identities": ("identities", "unlink"),
}
_Place = tuple[str, ...]


class _VerbGroup(TyperGroup):
    """A verb whose subcommands are kinds, each the command of its own group."""

    places: Mapping[str, _Place]
    verb: str

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.places)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        from cpctl.lazy import build

        kind = kind_named(cmd_name).name
        if kind not in self.places:
            raise UsageError(f"{kind} cannot be {self.verb}d this way.", hint=f"cpctl {self.verb} --help")
        group, *path = self.places[kind]
        command = build(group)
        for name in path:
            command = command.commands[name]
        return command

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Kinds"):
            formatter.write_dl([(kind, f"cpctl {' '.join(place)}") for kind, place in self.places.items()])


class CreateGroup(_VerbGroup):
    places, verb = CREATE, "create"


class DeleteGroup(_VerbGroup):
    places, verb = DELETE, "delete"
