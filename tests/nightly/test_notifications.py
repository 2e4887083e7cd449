"""Engines of notifications that are killed between any two of their steps."""

from __future__ import annotations

import pytest

from tests.integration.controlplane.notifications import conftest as notifications
from tests.integration.controlplane.notifications.test_crashes import ALL_POINTS, kill_engines_at

pytestmark = pytest.mark.django_db(transaction=True)
creator, make_channel, make_rule, office, receiver, _settings = (
    notifications.creator,
    notifications.make_channel,
    notifications.make_rule,
    notifications.office,
    notifications.receiver,
    notifications._settings,
)


def test_each_alert_is_one_message_wherever_an_engine_dies(make_channel, make_rule, office, tmp_path):
    make_rule(make_channel("pagerduty"), mode="paged", max_per_hour=1000)
    kill_engines_at(ALL_POINTS, tmp_path)
