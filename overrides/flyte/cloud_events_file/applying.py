"""Make the sinks of a file: create, change and delete them until they are as the file says."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import structlog
from django.db import transaction

from controlplane.access.flyte_auth.sections import InvalidConfiguration
from controlplane.access.models import Principal, PrincipalKind
from controlplane.access.principals import create_principal
from controlplane.access.role_bindings import bind_role
from controlplane.delivery.kinds import kind_named
from controlplane.delivery.models import Sink
from controlplane.delivery.sink_secrets import secrets_of
from controlplane.delivery.sink_terms import SinkTerms
from controlplane.delivery.sinks import change_sink, create_sink, delete_sink
from controlplane.errors import ControlplaneError
from controlplane.identity.actors import Actor, system
from controlplane.identity.roles import Role
from controlplane.scopes import Scope
from overrides.flyte.cloud_events_file.plans import NAMES, FilePlan, SinkPlan
from overrides.flyte.cloud_events_file.reading import read

log = structlog.get_logger(__name__)
# The principal whose permissions the sinks have. It has no token.
READER = "flyte-cloud-events"


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a sink. action: "created", "changed", "deleted", "kept" or "failed"; reason: why."""

    name: str
    action: str
    reason: str = ""


def apply_file(path: str) -> None:
    """Make the sinks of the file, and log what is wrong. A start must not fail for it, unlike upstream's."""
    try:
        plan = read(Path(path).read_text(), Path(path).name)
    except (OSError, UnicodeDecodeError, InvalidConfiguration) as error:
        log.error("flyte.cloud_events_file_refused", file=path, error=str(error))
        return
    for warning in plan.warnings:
        log.warning("flyte.cloud_events_file", warning=warning)
    for result in apply(plan):
        if result.action == "failed":
            log.error("flyte.sink_failed", sink=result.name, error=result.reason)


def apply(plan: FilePlan, *, dry_run: bool = False) -> list[Result]:
    """Make the sinks of the file. One that cannot be made keeps no other from being made."""
    plans = {sink_plan.name: sink_plan for sink_plan in plan.sinks}
    results = []
    for name in NAMES:
        try:
            with transaction.atomic():
                result = _apply(name, plans.get(name))
                transaction.set_rollback(dry_run)
        except (ControlplaneError, OSError) as error:
            result = Result(name, "failed", str(error))
        if result is not None:
            results.append(result)
    return results


def _apply(name: str, plan: SinkPlan | None) -> Result | None:
    row = Sink.objects.select_related("created_by").filter(name=name, team=None).first()
    if row is not None and row.created_by.name != READER:
        return Result(name, "failed", "Somebody else created a sink with this name. Rename it first.")
    if plan is None:
        if row is None:
            return None
        delete_sink(row, precondition=None, actor=_actor())
        return Result(name, "deleted")
    if kind_named(plan.kind) is None:
        return Result(name, "failed", f"This installation has no sinks of kind {plan.kind}.")
    return _made(row, plan)


def _made(row: Sink | None, plan: SinkPlan) -> Result:
    terms = _terms(plan)
    if row is not None and row.kind == terms.kind:
        return _changed(row, terms)
    after = None
    if row is not None:
        # Another kind is another sink, which continues where the first one is.
        after = row.cursor_seq
        delete_sink(row, precondition=None, actor=_actor())
    create_sink(terms, team=None, actor=_actor(), after_seq=after)
    return Result(plan.name, "created" if after is None else "changed")


def _changed(row: Sink, terms: SinkTerms) -> Result:
    same = (row.flavour, dict(row.config), dict(row.filter)) == (
        terms.flavour,
        terms.config,
        terms.filter,
    ) and secrets_of(row).credentials == terms.credentials
    if same:
        return Result(row.name, "kept")
    change_sink(row, terms, precondition=None, actor=_actor())
    return Result(row.name, "changed")


def _terms(plan: SinkPlan) -> SinkTerms:
    files = {name: Path(path).read_text().strip() for name, path in plan.credential_files.items()}
    return SinkTerms(
        name=plan.name,
        kind=plan.kind,
        config=dict(plan.config),
        filter={"types": list(plan.types)},
        flavour=plan.flavour,
        credentials={**plan.credentials, **files},
    )


def _actor() -> Actor:
    """Return the principal of the sinks as the actor; create it if needed."""
    principal = Principal.objects.filter(name=READER).first()
    if principal is None:
        principal = create_principal(READER, kind=PrincipalKind.SERVICE, actor=system("settings"))
        bind_role(principal, Role.VIEWER, Scope(), actor=system("settings"))
    return Actor(principal.id, principal.name)
