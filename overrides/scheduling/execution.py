"""Run scheduled changes whose time has come. Level-based: the rows are the duty; safe in any number."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from uuid import UUID

import structlog
from django.db import transaction

from controlplane.access.authentication import caller_for
from controlplane.access.models import Principal
from controlplane.database.clock import statement_now
from controlplane.errors import ControlplaneError
from controlplane.identity.actors import Actor
from controlplane.identity.roles import Action
from overrides.approvals.decisions import Consent
from overrides.approvals.storage import count_approvals
from overrides.editing.commit import CommitOptions, begin, commit
from overrides.editing.draft import Draft
from overrides.editing.plan_digest import drifted, plan_digest
from overrides.editing.writes import refuse_conflicts
from overrides.field_managers import replace_attributes
from overrides.freezes.storage import active_freezes
from overrides.loading.current import CurrentOverride, load_current
from overrides.models import OverrideVersion
from overrides.resolution.addresses import Address
from overrides.scheduled_models import OverrideChange
from overrides.scheduling.decisions import ChangeState, Decision, Situation, Step, decide
from overrides.scheduling.records import record, snapshot

MOST_PER_RUN = 200
_CONFIRMED = CommitOptions(asks=False)
# A value that was set until a time expires without approvals.
_REVERT = replace(_CONFIRMED, heeds_approvals=False)
log = structlog.get_logger(__name__)


def run_due_changes() -> int:
    """Apply, revert or refuse what is due, each in its own transaction; return how many rows were tried."""
    tried: list[UUID] = []
    while len(tried) < MOST_PER_RUN and _try_next(tried):
        pass
    return len(tried)


def _try_next(tried: list[UUID]) -> bool:
    """Run the next due row, and add it to `tried`. False if there is none, or rows cannot be read."""
    count = len(tried)
    try:
        with transaction.atomic():
            row = _next_due(tried)
            if row is None:
                return False
            tried.append(row.id)
            _run(row)
    except Exception:
        # The row is still due: the next run tries it again. Others must not wait for it, whatever failed.
        log.exception("override_change.failed", change=str(tried[-1]) if len(tried) > count else "")
    return len(tried) > count


def apply_change(row: OverrideChange, current: CurrentOverride, actor: Actor, options: CommitOptions) -> None:
    """Write the change, and remember what it replaced. The caller holds the lock of revisions."""
    catalogue = begin(actor)
    address = current.address
    rule = catalogue.get(address.resource_type).rule
    outcome = replace_attributes(current.attributes, current.owners, row.attributes, rule, "")
    refuse_conflicts(address, outcome, force=False)
    draft = Draft(current, row.attributes, outcome.owners)
    if row.plan_digest and row.plan_digest != (digest := plan_digest(draft, catalogue)):
        raise drifted(digest)
    commit([draft], catalogue, actor=actor, options=options)
    row.before, row.before_owners = current.attributes, current.owners
    row.applied_version = current.version + draft.changes


def _next_due(tried: list[UUID]) -> OverrideChange | None:
    due = OverrideChange.objects.filter(due_at__lte=statement_now()).exclude(id__in=tried)
    return due.select_for_update(skip_locked=True).order_by("due_at", "id").first()


def _run(row: OverrideChange) -> None:
    before = snapshot(row)
    actor = Actor(row.author_id, row.created_by, reason=_reason(row))
    try:
        with transaction.atomic():
            decision = _attempt(row, actor)
    except ControlplaneError as error:
        decision = Decision(Step.REFUSE, error.detail)
    now = statement_now()
    if decision.step is Step.WAIT:
        OverrideChange.objects.filter(id=row.id).update(problem=decision.reason[:1000])
        return
    _settle(row, decision, now)
    row.save()
    record(row, actor, before=before)


def _attempt(row: OverrideChange, actor: Actor) -> Decision:
    """Decide and write, under the lock of revisions. Raises what a write raises."""
    address = Address(row.resource_type, row.scope)
    catalogue = begin(actor)
    current = load_current([address])[address]
    decision = decide(_situation(row, current))
    if decision.step is Step.APPLY:
        consent = Consent(count_approvals(row.change_request_id))
        apply_change(row, current, actor, replace(_CONFIRMED, consent=consent))
    elif decision.step is Step.REVERT:
        draft = Draft(current, row.before, row.before_owners)
        commit([draft], catalogue, actor=actor, options=_REVERT)
    return decision


def _situation(row: OverrideChange, current: CurrentOverride) -> Situation:
    state = ChangeState(row.state)
    expected = row.planned_version if state is ChangeState.SCHEDULED else (row.applied_version or 0)
    last = OverrideVersion.objects.at(row.scope).filter(
        resource_type=row.resource_type, version=current.version
    )
    changed_by = last.values_list("changed_by", flat=True).first() or ""
    frozen_by = active_freezes([row.scope])
    return Situation(state, expected, current.version, changed_by, _may_write(row), frozen_by)


def _may_write(row: OverrideChange) -> bool:
    if row.author_id is None:
        return False
    author = Principal.objects.filter(id=row.author_id, is_active=True).first()
    return author is not None and caller_for(author).verdict(Action.OVERRIDE_WRITE, row.scope).allowed


def _settle(row: OverrideChange, decision: Decision, now: datetime) -> None:
    """Put the row into the state that follows, with the time of what is due next."""
    row.problem = decision.reason[:1000]
    if decision.step is Step.APPLY:
        row.state, row.applied_at, row.due_at = ChangeState.APPLIED, now, row.until
    else:
        is_revert = decision.step is Step.REVERT
        row.state = ChangeState.REVERTED if is_revert else ChangeState.REFUSED
        row.due_at = None
    if row.due_at is None:
        row.finished_at = now


def _reason(row: OverrideChange) -> str:
    what = "Expiry of" if row.state == ChangeState.APPLIED else "Scheduled"
    return f"{what} change {row.id}. {row.message}".strip()[:500]
