"""Whether agents have had the time to return since the control plane could last not be reached."""

from __future__ import annotations

from django.db.models.functions import Now

from registry.agents.models import SweepRecord
from registry.agents.policies import outage_gap, scaled_policy


def grace_has_passed() -> bool:
    """False during the grace after an outage, and while no sweep runs."""
    record = SweepRecord.objects.filter(id=1).annotate(now=Now()).first()
    if record is None or record.last_sweep_at is None or record.reachable_since is None:
        return False
    grace = scaled_policy(record.live_count).grace()
    return record.now - record.last_sweep_at <= outage_gap() and record.now > record.reachable_since + grace


def restart_grace() -> None:
    """Give all agents the time to return, as after an outage: heartbeats were refused until now."""
    SweepRecord.objects.filter(id=1).update(reachable_since=Now())
