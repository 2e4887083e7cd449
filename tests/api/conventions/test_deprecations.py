"""Deprecated operations and parameters, through HTTP."""

from __future__ import annotations

from datetime import date
from urllib.parse import urlsplit

import pytest
from prometheus_client import REGISTRY

from controlplane.api.deprecations import Deprecation, Deprecations
from registry.api.agents.views import AgentCollection
from tests.support.api_client import Api

pytestmark = pytest.mark.django_db
GONE = Deprecation(date(2026, 12, 1), date(2027, 12, 1), "use `q`.")


@pytest.fixture(autouse=True)
def leaving(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AgentCollection, "deprecations", Deprecations({}, {"environment": GONE}))


def counted(client: str) -> float:
    labels = {"route": "api/v1/agents", "part": "?environment", "client": client}
    return REGISTRY.get_sample_value("cp_http_deprecated_requests_total", labels) or 0


def test_answers_say_what_goes_away_and_requests_are_counted_by_client(api: Api) -> None:
    before = counted("nightly-report")

    used = api.get("agents?environment=eu", User_Agent="nightly-report/2.1")
    unused = api.get("agents", User_Agent="nightly-report/2.1")

    assert used.headers["Deprecation"] == "@1796083200"
    assert used.headers["Sunset"] == "Wed, 01 Dec 2027 00:00:00 GMT"
    guide, _, relation = used.headers["Link"].partition("; ")
    assert relation == 'rel="deprecation"; type="text/html"'
    assert api.get(urlsplit(guide.strip("<>")).path).status_code == 200
    assert not {"Deprecation", "Sunset", "Link"} & unused.headers.keys()
    assert counted("nightly-report") == before + 1


def test_refused_requests_say_so_too(api: Api) -> None:
    refused = api.get("agents?environment=eu&nope=1")

    assert (refused.status_code, "Sunset" in refused.headers) == (400, True)
