"""Whom an attributes call is about, and whether FlyteAdmin would let it pass. Pure.

The order of the checks and their texts are upstream's (flyte-attributes.md section 3.5): clients show
them, and some look for them.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import Any

from flyteidl.admin.project_pb2 import InactiveProject, Project
from google.protobuf.message import Message

from controlplane.scopes import Level, Scope
from overrides.flyte.errors import FlyteError, invalid

# Those that FlyteAdmin has calls for, and those that its resolution knows.
LEVELS = (Level.PROJECT, Level.PROJECT_DOMAIN, Level.WORKFLOW)


@dataclass(frozen=True, slots=True)
class Target:
    """The ids of a call. level: what the call is for, also where an id was left empty."""

    level: Level
    project: str
    domain: str = ""
    workflow: str = ""

    @property
    def scope(self) -> Scope:
        """Where attributes stand. Raises InvalidScope for ids that no scope can have."""
        return Scope(domain=self.domain, project=self.project, workflow=self.workflow)

    @property
    def nearest_scope(self) -> Scope:
        """The same for asking permission, before empty ids are refused."""
        if self.project and self.domain:
            return self.scope
        return Scope(project=self.project) if self.project else Scope()

    @property
    def label(self) -> str:
        """As upstream's "Unrecognized matching attributes" names it."""
        return "-".join([self.project, self.domain, self.workflow][: LEVELS.index(self.level) + 1])

    def missing(self, type_label: str) -> str:
        """Upstream's text where nothing is found: Go's print of the row's key."""
        return (
            f"Resource [{{Project:{self.project} Domain:{self.domain} Workflow:{self.workflow} LaunchPlan: "
            f"ResourceType:{type_label}}}] not found"
        )


def target_of(message: Message) -> Target:
    """The ids in a request or an attributes message; its fields tell the level."""
    fields = message.DESCRIPTOR.fields_by_name
    said: Any = message
    if "workflow" in fields:
        return Target(Level.WORKFLOW, said.project, said.domain, said.workflow)
    if "domain" in fields:
        return Target(Level.PROJECT_DOMAIN, said.project, said.domain)
    return Target(Level.PROJECT, said.project)


def check_target(
    target: Target, state: int | None, domains: Set[str], *, reads_project: bool = False
) -> None:
    """Raise FlyteError unless the target is registered and active.

    state: of the project; None if there is no such project. reads_project: FlyteAdmin reads attributes
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
