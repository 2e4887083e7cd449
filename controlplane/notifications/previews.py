"""Previews of rules over the events of the last day."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from django.conf import settings

from controlplane.database.clock import statement_now
from controlplane.delivery.dispatcher import with_teams
from controlplane.delivery.origins import origin
from controlplane.events import log
from controlplane.events.visibility import visible_events
from controlplane.identity.callers import Caller
from controlplane.notifications.occurrences import DefaultTexts
from controlplane.notifications.rehearsal import Rehearsed, rehearse
from controlplane.notifications.rule_checks import check_rule
from controlplane.notifications.rules import RuleSpec, rule_from

_PERIOD = timedelta(days=1)
# The newest ones, if the day had more.
_MOST_EVENTS = 5_000
MOST_EXAMPLES = 20
_NOBODY = UUID(int=0)


def preview_rule(caller: Caller, spec: RuleSpec) -> Rehearsed:
    """Return what a rule would have done in the last day with the events that the caller may read."""
    check_rule(spec)
    log.number_committed()
    now = statement_now()
    rows = visible_events(caller).filter(at__gt=now - _PERIOD).numbered_before(None)[:_MOST_EVENTS]
    events = with_teams(list(rows))[::-1]
    rule = rule_from(spec, rule_id=_NOBODY, created_by=_NOBODY)
    defaults = DefaultTexts(settings.FLYTE_EMAIL_SUBJECT, settings.FLYTE_EMAIL_BODY)
    return rehearse(rule, events, origin(), now=now, most_examples=MOST_EXAMPLES, defaults=defaults)
