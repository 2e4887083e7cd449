"""Every page of the console in both themes and two widths: axe finds nothing, and nothing is cut off.

The tests and their pages are those of tests/browser, which look at most pages in light and wide alone.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from controlplane.delivery.models import Sink
from controlplane.notifications.channels import channel_names
from tests.browser.conftest import jane, look, look_around, page, running_browser
from tests.browser.test_access import test_every_page_about_access_hinders_nobody
from tests.browser.test_dashboard import test_a_mass_event_leaves_the_pages_usable
from tests.browser.test_dispatch import test_every_page_about_resources_hinders_nobody
from tests.browser.test_fleet import (
    test_every_page_about_agents_hinders_nobody,
    test_every_page_about_configurations_hinders_nobody,
)
from tests.browser.test_frame import test_every_page_hinders_nobody
from tests.browser.test_login import (
    console,
    picture,
    test_a_person_logs_in_lands_where_they_wanted_and_logs_out_on_both_sides,
    test_a_person_without_a_role_sees_whom_to_ask,
    test_an_administrator_tests_the_rules_of_a_provider,
    test_pages_of_failed_logins_hinder_nobody,
    visitor,
)
from tests.browser.test_notifications import (
    make_alert,
    test_a_channel_and_a_rule_are_made_without_a_mouse,
)
from tests.browser.test_oauth import (
    test_a_person_allows_a_client_and_the_browser_returns_to_it,
    test_a_person_approves_a_device,
    test_the_pages_of_clients_hinder_nobody,
    tool,
)
from tests.browser.test_overrides import test_a_pod_is_previewed_from_the_example
from tests.browser.test_pools import make_pools
from tests.browser.test_sinks import (
    make_sinks,
    receiver,
    test_a_replay_says_how_many_events_it_sends_before_it_does,
    test_a_sink_is_made_tested_and_mended_without_a_mouse,
)

__all__ = [
    "console",
    "jane",
    "look",
    "look_around",
    "page",
    "picture",
    "receiver",
    "test_a_channel_and_a_rule_are_made_without_a_mouse",
    "test_a_mass_event_leaves_the_pages_usable",
    "test_a_person_allows_a_client_and_the_browser_returns_to_it",
    "test_a_person_approves_a_device",
    "test_a_person_logs_in_lands_where_they_wanted_and_logs_out_on_both_sides",
    "test_a_person_without_a_role_sees_whom_to_ask",
    "test_a_pod_is_previewed_from_the_example",
    "test_a_replay_says_how_many_events_it_sends_before_it_does",
    "test_a_sink_is_made_tested_and_mended_without_a_mouse",
    "test_an_administrator_tests_the_rules_of_a_provider",
    "test_every_page_about_access_hinders_nobody",
    "test_every_page_about_agents_hinders_nobody",
    "test_every_page_about_configurations_hinders_nobody",
    "test_every_page_about_resources_hinders_nobody",
    "test_every_page_hinders_nobody",
    "test_pages_of_failed_logins_hinder_nobody",
    "test_the_pages_of_clients_hinder_nobody",
    "tool",
    "visitor",
]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """For this lane alone: other lanes run event loops of their own."""
    with running_browser() as browser:
        yield browser


@pytest.fixture(scope="session")
def every_way() -> bool:
    return True


def test_every_page_of_sinks_hinders_nobody(look, jane, receiver):
    delivery = make_sinks(jane, receiver)
    address = f"/sinks/{delivery.sink_id}"
    pages = {
        "sinks": "/sinks",
        "sink": address,
        "deliveries": f"{address}/deliveries",
        "delivery": f"/sinks/deliveries/{delivery.id}",
    }
    for name, path in pages.items():
        look(name, path)


def test_every_page_of_pools_hinders_nobody(look):
    address = f"/pools/{make_pools().name}"
    pages = {
        "pools": "/pools",
        "status": "/status",
        "pool": address,
        "pool-edit": f"{address}/edit",
        "pool-limit": f"{address}/limit?project=ml",
        "pool-delete": f"{address}/delete",
        "pool-new": "/pools:new",
    }
    for name, path in pages.items():
        look(name, path)


def test_every_page_about_notifications_hinders_nobody(look):
    alert = make_alert()
    rule, channel = f"/notification-rules/{alert.rule_id}", "/notification-channels"
    made = f"{channel}/{Sink.objects.get(name='on call').id}"
    pages = {
        "alerts": "/alerts",
        "alert": f"/alerts/{alert.id}",
        "alert-acknowledge": f"/alerts/{alert.id}/acknowledge",
        "notification-rules": "/notification-rules",
        "notification-rule": rule,
        "notification-rule-edit": f"{rule}/edit",
        "notification-rule-delete": f"{rule}/delete",
        "notification-channels": channel,
        "notification-channel": made,
        "notification-channel-edit": f"{made}/edit",
        "notification-channel-test": f"{made}/test",
        "notification-channel-delete": f"{made}/delete",
    }
    pages |= {f"notification-channel-{kind}": f"{channel}:new?kind={kind}" for kind in channel_names()}
    for name, path in pages.items():
        look(name, path)
