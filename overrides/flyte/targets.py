"""The target of an attributes call, and FlyteAdmin's checks of it. Pure.

The order of the checks and their texts are upstream's (flyte-attributes.md section 3.5): clients show
them, and some match on them.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import Any

from flyteidl.admin.project_pb2 import InactiveProject, Project
from google.protobuf.message import Message

from controlplane.scopes import Level, Scope
from overrides.flyte.errors import FlyteError, invalid

# The levels for which FlyteAdmin has calls, which are those that its resolution supports.
LEVELS = (Level.PROJECT, Level.PROJECT_DOMAIN, Level.WORKFLOW)


@dataclass(frozen=True, slots=True)
class Target:
    """The ids of a call. level: the level of the call, even if an id is empty."""

    level: Level
    project: str
    domain: str = ""
    workflow: str = ""

    @property
    def scope(self) -> Scope:
        """The scope of the attributes. Raises InvalidScope for ids that no scope can have."""
        return Scope(domain=self.domain, project=self.project, workflow=self.workflow)

    @property
    def nearest_scope(self) -> Scope:
        """The scope for checking permissions, before empty ids are refused."""
        if self.project and self.domain:
            return self.scope
        return Scope(project=self.project) if self.project else Scope()

    @property
    def label(self) -> str:
        """The target as named in upstream's "Unrecognized matching attributes"."""
        return "-".join([self.project, self.domain, self.workflow][: LEVELS.index(self.level) + 1])

    def missing(self, type_label: str) -> str:
        """Return upstream's text for a missing row: Go's format of the row's key."""
        return (
            f"Resource [{{Project:{self.project} Domain:{self.domain} Workflow:{self.workflow} LaunchPlan: "
            f"ResourceType:{type_label}}}] not found"
        )


def target_of(message: Message) -> Target:
    """Return the ids of a request or an attributes message; its fields determine the level."""
    fields = message.DESCRIPTOR.fields_by_name
    ids: Any = message
    if "workflow" in fields:
        return Target(Level.WORKFLOW, ids.project, ids.domain, ids.workflow)
    if "domain" in fields:
        return Target(Level.PROJECT_DOMAIN, ids.project, ids.domain)
    return Target(Level.PROJECT, ids.project)


def check_target(
    target: Target, state: int | None, domains: Set[str], *, reads_project: bool = False
) -> None:
    """Raise FlyteError unless the target is registered and active.

    state: of the project; None if it does not exist. reads_project: FlyteAdmin reads attributes
    of an archived project, at project level only.
    """
    if target.level is Level.PROJECT:
        _check_exists(target, state, "exists" if reads_project else "is registered")
        if not reads_project:
            _check_active(target, state, details=())
        return
    if state is None:
        raise invalid(
            f"failed to validate that project [{target.project}] and domain [{target.domain}] are "
            f"registered, err: [project [{target.project}] not found]"
        )
    _check_active(target, state, details=(InactiveProject(id=target.project),))
    if target.domain not in domains:
        raise invalid(f"domain [{target.domain}] is unrecognized by system")
    if target.level is Level.WORKFLOW and not target.workflow:
        raise invalid("missing name")


def _check_exists(target: Target, state: int | None, what: str) -> None:
    if state is None:
        raise invalid(
            f"failed to validate that project [{target.project}] {what}, "
            f"err: [project [{target.project}] not found]"
        )


def _check_active(target: Target, state: int | None, details: tuple[Message, ...]) -> None:
    if state != Project.ACTIVE:
        raise invalid(f"project [{target.project}] is not active", details)


def unrecognized(target: Target) -> FlyteError:
    return invalid(f"Unrecognized matching attributes type for request {target.label}")
