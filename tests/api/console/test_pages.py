"""The console: log in, look, and be told clearly what is wrong."""

import html
import re
from datetime import UTC, datetime, timedelta

import pytest
from django.db.models.functions import Now
from django.test import Client
from structlog.testing import capture_logs

from console.fleet import counts as fleet
from console.fleet.list_query import matching_agents
from console.overrides import value_text
from console.templatetags.times import ago
from controlplane.access import principals, role_bindings
from controlplane.access.models import AuditRecord, PrincipalKind
from controlplane.demo.seed import seed
from controlplane.identity.callers import ANONYMOUS_READER
from controlplane.identity.roles import Role
from controlplane.scopes import Scope
from registry.agents.liveness import LATE_AFTER_INTERVALS
from registry.agents.models import Agent, Lease
from registry.agents.policies import liveness_policy
from registry.agents.states import LIVE, State
from tests.support.api_client import ACTOR

PASSWORD = "a rather long password"
WORKFLOW = "/overrides?project=flytesnacks&domain=development&workflow=MyExampleWorkflow"
PAGES = [
    "/",
    "/overrides",
    WORKFLOW,
    "/agents",
    "/agents?state=ready",
    "/agents?state=late",
    "/fleet-guards",
    "/task-types",
    "/audit",
    "/environments",
    "/events",
    "/tokens",
    "/sessions",
    "/account/password",
    "/role-bindings",
    "/join-tokens",
    "/agent-configs",
    "/agent-configs/conflicts",
    "/agent-configs/planes",
    "/agent-configs/try",
    "/notification-rules",
    "/notification-rules:new",
    "/notification-channels",
    "/notification-channels:new?kind=slack",
    "/search?q=flyte",
]


def make_person(name="jane", role=Role.ADMIN, scope=Scope()):
    person = principals.create_principal(name, kind=PrincipalKind.PERSON, password=PASSWORD, actor=ACTOR)
    role_bindings.bind_role(person, role, scope, actor=ACTOR)
    return person


@pytest.fixture
def browser(db):
    seed()
    client = Client()
    client.force_login(make_person())
    return client


@pytest.mark.parametrize("page", PAGES)
def test_a_page_asks_who_you_are_first(db, page):
    answer = Client().get(page)

    assert answer.status_code == 302
    assert answer["Location"].startswith("/login?next=/")


def test_logging_in_leads_back_to_where_one_wanted_to_go(db):
    make_person()
    client = Client(enforce_csrf_checks=True)
    form = client.get("/login?next=/agents")
    csrf = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', form.content.decode())[1]

    credentials = {"username": "jane", "password": PASSWORD, "next": "/agents", "csrfmiddlewaretoken": csrf}
    answer = client.post("/login", credentials)

    assert (answer.status_code, answer["Location"]) == (302, "/agents")
    assert client.get("/agents").status_code == 200
    # The same session may use the API, and its writes need the CSRF token.
    assert client.get("/api/v1/me").json()["name"] == "jane"
    refused = client.post("/api/v1/scopes/projects", {"id": "x"}, content_type="application/json")
    assert refused.status_code == 403


def test_logging_in_never_leads_to_another_site(db):
    make_person()

    answer = Client().post(
        "/login", {"username": "jane", "password": PASSWORD, "next": "https://evil.example/"}
    )

    assert answer["Location"] == "/"


@pytest.mark.parametrize("name", ["jane", "nobody", "robot"])
def test_a_wrong_password_and_a_wrong_name_look_alike(db, name):
    make_person()
    principals.create_principal("robot", kind=PrincipalKind.SERVICE, actor=ACTOR)

    answer = Client().post("/login", {"username": name, "password": "wrong"})

    assert answer.status_code == 422
    assert "Incorrect name or password" in answer.content.decode()


def test_the_log_tells_of_tries_and_never_of_passwords(db):
    make_person()
    with capture_logs() as log_entries:
        for password in ("not-it-at-all", PASSWORD):
            Client().post("/login", {"username": "jane", "password": password})

    ours = [line["event"] for line in log_entries if line["event"].startswith("login.")]
    assert ours == ["login.failed", "login.succeeded"]
    assert "not-it-at-all" not in str(log_entries)
    assert PASSWORD not in str(log_entries)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_shows_the_demo_without_inline_style_or_script(browser, page):
    answer = browser.get(page)

    text = answer.content.decode()
    assert answer.status_code == 200
    assert "unsafe-inline" not in answer["Content-Security-Policy"]
    assert " style=" not in text
    assert "<style" not in text
    assert all(" src=" in tag for tag in re.findall(r"<script[^>]*>", text))
    assert not re.search(r"<script[^>]*>[^<]", text)
    assert not re.findall(r"<[^>]*\s(on\w+)=", text)


def test_the_effective_page_names_sources_and_what_lost(browser):
    text = browser.get(WORKFLOW).content.decode()

    assert "limits › cpu" in text
    assert "project=flytesnacks domain=development workflow=MyExampleWorkflow" in text
    assert "<s>1Gi</s>" in text
    assert re.search(r">true</td>", text), "values are shown as JSON, as the API shows them"
    launch_plan = browser.get(f"{WORKFLOW}&launch_plan=nightly").content.decode()
    assert "removed" in launch_plan


@pytest.mark.parametrize(
    ("query", "words"), [("workflow=w", "also requires"), ("project=flytesnack", "Did you mean")]
)
def test_a_scope_that_is_none_is_a_message_and_no_error(browser, query, words):
    answer = browser.get(f"/overrides?{query}")

    assert answer.status_code == 422
    assert words in answer.content.decode()


def test_what_was_asked_stays_in_the_form_although_it_is_unknown(browser):
    text = browser.get("/overrides?project=flytesnack").content.decode()

    assert "<option selected>flytesnack</option>" in text


def test_where_nothing_is_set_the_page_says_how_to_set_something_there(db):
    client = Client()
    client.force_login(make_person())

    text = html.unescape(client.get("/overrides?domain=staging").content.decode())

    assert '/api/v1/overrides/task_resource?domain=staging"' in text


@pytest.mark.parametrize(
    ("pointer", "words"),
    [
        ("/limits/cpu", "limits › cpu"),
        ("/labels/app.kubernetes.io~1name", "labels › app.kubernetes.io/name"),
        ("/a~01", "a~1"),
        ("", "(whole document)"),
    ],
)
def test_a_pointer_is_shown_in_words(pointer, words):
    assert value_text.readable(pointer) == words


@pytest.mark.parametrize(
    ("value", "words"), [("1Gi", "1Gi"), ("", '""'), (True, "true"), (["Zürich"], '["Zürich"]'), ({}, "{}")]
)
def test_a_value_is_shown_plainly(value, words):
    assert value_text.format_value(value) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(-3, "0 s ago"), (119, "119 s ago"), (120, "2 min ago"), (7200, "2 h ago"), (172800, "2 days ago")],
)
def test_times_are_told_as_finely_as_heartbeats_come(seconds, words):
    now = datetime(2026, 1, 1, tzinfo=UTC)

    assert ago(now - timedelta(seconds=seconds), now) == words


def test_what_people_type_is_escaped(browser):
    assert "<b>x" not in browser.get("/overrides?project=<b>x").content.decode()


def test_who_may_not_see_a_page_is_told_what_is_missing(db):
    client = Client()
    client.force_login(make_person("joe", Role.VIEWER, Scope(project="ads")))

    answer = client.get("/agents")

    assert answer.status_code == 403
    assert "requires one of the roles" in answer.content.decode()


def test_who_has_no_role_is_told_so_on_the_dashboard(db):
    client = Client()
    client.force_login(
        principals.create_principal("new", kind=PrincipalKind.PERSON, password=PASSWORD, actor=ACTOR)
    )

    answer = client.get("/")

    assert answer.status_code == 403
    assert "have no role yet" in answer.content.decode()


def test_who_may_read_one_project_finds_it_and_no_other(browser):
    client = Client()
    client.force_login(make_person("joe", Role.VIEWER, Scope(project="flytesnacks")))

    landing, own = client.get("/overrides", follow=True), client.get("/overrides?project=flytesnacks")

    assert landing.redirect_chain == [("/overrides?project=flytesnacks", 302)]
    assert (landing.status_code, own.status_code) == (200, 200)
    for name in ("billing", "recommender"):
        assert name not in landing.content.decode() + own.content.decode()


def test_the_dashboard_counts_agents_and_the_late_ones_as_the_agents_page_shows_them(browser):
    policy = liveness_policy()
    silence = {"dev-laptop-1": -5, "prod-eu-1": 5, "edge-silent": 500}
    Lease.objects.update(renewed_at=Now())
    for name, more in silence.items():
        late_by = LATE_AFTER_INTERVALS * policy.interval + timedelta(seconds=more)
        Lease.objects.filter(agent__name=name).update(renewed_at=Now() - late_by)

    # Who is known to be gone is not late as well.
    Agent.objects.filter(name="edge-silent").update(state="unavailable")

    late = {
        agent.name
        for agent in Agent.objects.shown()
        if agent.state in LIVE and policy.is_late(agent.lease.renewed_at, now=agent.now)
    }

    assert late == {"prod-eu-1"}
    assert {agent.name for agent in matching_agents({"state": "late"}, ANONYMOUS_READER)} == late
    assert fleet.counts(ANONYMOUS_READER) == {
        **dict.fromkeys(State, 0),
        "ready": 5,
        "unavailable": 1,
        "late": 1,
    }
    assert browser.get("/agents?state=late").content.decode().count("<tr>") == 1 + len(late)


@pytest.mark.parametrize("query", ["environment=%00", "state=%00", "state=bogus", "environment=nowhere"])
def test_a_filter_that_fits_nothing_says_so(browser, query):
    answer = browser.get(f"/agents?{query}")

    assert answer.status_code == 200
    assert "No agents match" in answer.content.decode()


@pytest.mark.parametrize("method", ["get", "post"])
def test_logging_out_ends_the_session(browser, method):
    assert "Logged out" in getattr(browser, method)("/logout").content.decode()

    assert browser.get("/").status_code == 302


def shown(browser: Client, address: str) -> str:
    return browser.get(address).content.decode()


def test_a_table_is_sorted_opened_and_has_the_columns_that_were_chosen(browser):
    for name in ("alfa", "bravo"):
        principals.create_principal(name, kind=PrincipalKind.SERVICE, actor=ACTOR)

    oldest_first = shown(browser, "/audit?object_type=principal&sort=time")
    assert oldest_first.index(">alfa<") < oldest_first.index(">bravo<")
    newest_first = shown(browser, "/audit?object_type=principal&sort=-time")
    assert newest_first.index(">bravo<") < newest_first.index(">alfa<")
    assert 'aria-sort="descending"' in newest_first

    assert '<td data-label="Object type"' not in newest_first
    assert '<td data-label="Object type"' in shown(browser, "/audit?columns=object_type")
    # Remembered without the parameter, and only for this table.
    later = shown(browser, "/audit")
    assert '<td data-label="Object type"' in later
    assert '<td data-label="Reason"' not in later
    assert '<td data-label="Actor"' in shown(browser, "/events")
    assert '<td data-label="Reason"' in shown(browser, "/audit?columns=")

    record = AuditRecord.objects.filter(object_id="bravo").latest("id")
    opened = shown(browser, f"/audit?open={record.id}")
    assert 'id="drawer-audit"' in opened
    assert 'aria-label="Details of principal.created"' in opened
    assert 'id="drawer-audit"' not in shown(browser, "/audit?open=0")


def test_the_next_page_keeps_its_place_when_a_row_is_opened(browser):
    for number in range(60):
        principals.create_principal(f"one-{number}", kind=PrincipalKind.SERVICE, actor=ACTOR)
    first = shown(browser, "/audit")
    following = html.unescape(re.search(r'rel="next" href="([^"]+)"', first)[1])
    record = AuditRecord.objects.earliest("id")

    opened = browser.get(f"/audit{following}&open={record.id}&columns=object_type")

    assert opened.status_code == 200
    assert 'id="drawer-audit"' in opened.content.decode()
