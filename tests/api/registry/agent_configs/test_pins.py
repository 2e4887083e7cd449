"""Pins of names: they decide before all other rules, expire, and are recorded."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from controlplane.access.models import AuditRecord
from controlplane.events.models import Event
from controlplane.identity.actors import system
from registry.agent_configs.models import AgentConfigStatus
from registry.agent_configs.pin_models import AgentConfigPin
from registry.agent_configs.publishing.recompute import recompute_all
from tests.api.registry.agent_configs.test_agent_configs import client, text
from tests.support.api_client import Api

NAME = {"kind": "task_type", "name": "acme_sensor"}
PIN = {**NAME, "team": "acme"}


@pytest.fixture(autouse=True)
def rivals(api: Api) -> None:
    api.put("data-planes/eu", {})
    api.put("agent-configs/acme/agents", {"text": text("acme")})
    api.put("agent-configs/rival/agents", {"text": text("rival", "acme_sensor")})


def owner() -> str:
    (conflict,) = AgentConfigStatus.objects.exclude(conflicts=[]).get().conflicts
    return str(conflict["winner"]["team"])


def test_a_pinned_name_stays_whatever_others_get_until_it_is_unpinned(api: Api) -> None:
    pinned = api.post("agent-config-claims:pin?change_message=Why", PIN)
    assert (pinned.status_code, pinned.json()["until"], pinned.json()["reason"]) == (200, None, "Why")

    api.post("agent-config-grants", {"team": "rival", "pattern": "acme_sensor"})
    changed = text("rival", "acme_sensor").replace("8000", "9000")
    api.put("agent-configs/rival/agents", {"text": changed}, If_Match='"v1"')
    assert owner() == "acme"
    transfer = {**NAME, "from_team": "acme", "to_team": "rival"}
    assert api.post("agent-config-claims:transfer", transfer).json()["errors"][0]["code"] == "pinned"
    assert [pin["team"] for pin in api.get("agent-config-pins").json()["items"]] == ["acme"]

    assert api.post("agent-config-claims:unpin", NAME).status_code == 204
    assert owner() == "rival"
    assert api.post("agent-config-claims:unpin", NAME).status_code == 204
    names = list(Event.objects.filter(type__contains="pinned").order_by("id").values_list("type", flat=True))
    assert names == ["agent_config_claim.pinned", "agent_config_claim.unpinned"]
    assert AuditRecord.objects.filter(action__contains="pinned").count() == 2


def test_an_expired_pin_decides_nothing(api: Api) -> None:
    until = datetime.now(UTC) + timedelta(hours=1)
    api.post("agent-config-claims:pin", {**PIN, "until": until.isoformat()})
    api.post("agent-config-grants", {"team": "rival", "pattern": "acme_sensor"})
    assert owner() == "acme"

    AgentConfigPin.objects.update(until=datetime.now(UTC) - timedelta(seconds=1))

    assert recompute_all(system("agent_configs")) == ["eu"]
    assert owner() == "rival"
    assert api.get("agent-config-pins").json()["items"] == []
    # It can be pinned again, to another team.
    assert api.post("agent-config-claims:pin", {**PIN, "team": "rival"}).status_code == 200


@pytest.mark.parametrize(
    ("body", "pointer", "code"),
    [
        ({**PIN, "team": "nobody"}, "/team", "no_claim"),
        ({**PIN, "until": "2020-01-01T00:00:00Z"}, "/until", "in_the_past"),
        ({**PIN, "kind": "color"}, "/kind", "invalid_choice"),
    ],
)
def test_a_pin_that_would_do_nothing_is_refused(
    api: Api, body: dict[str, str], pointer: str, code: str
) -> None:
    refused = api.post("agent-config-claims:pin", body)

    assert refused.status_code == 400
    assert (refused.json()["errors"][0]["pointer"], refused.json()["errors"][0]["code"]) == (pointer, code)
    assert not AgentConfigPin.objects.exists()


def test_a_dry_run_and_a_publisher_pin_nothing(api: Api) -> None:
    name, publisher = client("editor")
    api.put("agent-config-teams/acme", {"publishers": [name]})

    assert api.post("agent-config-claims:pin?dry_run=true", PIN)["Dry-Run"] == "true"
    assert publisher.post("agent-config-claims:pin", PIN).status_code == 403
    assert publisher.post("agent-config-claims:unpin", NAME).status_code == 403
    assert not AgentConfigPin.objects.exists()
