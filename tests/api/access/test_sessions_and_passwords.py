"""Console sessions and passwords: seen, ended and changed by their owners and by administrators."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from hashlib import sha256

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client
from django.utils import timezone

from controlplane.access import attempt_counters, principals, role_bindings
from controlplane.access.login.browsers import browser_name
from controlplane.access.login.limits import PER_NAME_AND_ADDRESS
from controlplane.access.models import AuditRecord, Principal, PrincipalKind, Session
from controlplane.api.models import IdempotencyKey
from controlplane.events.models import Event
from controlplane.identity.roles import Role
from controlplane.scopes import Scope
from tests.support.api_client import ACTOR, Api, logged_in, token_for

PASSWORD, NEW = "correct horse battery", "another staple of words"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0"
SAFARI = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605 Version/18.1 Mobile Safari/604"
)


@pytest.fixture(autouse=True)
def _fresh_counters():
    attempt_counters.start_over()


@pytest.fixture
def jane(db):
    return person("jane")


def person(name, role=None):
    made = principals.create_principal(name, kind=PrincipalKind.PERSON, password=PASSWORD, actor=ACTOR)
    if role:
        role_bindings.bind_role(made, role, Scope(), actor=ACTOR)
    return made


def log_in(name="jane", password=PASSWORD, agent=FIREFOX, address="192.0.2.1"):
    browser = Client(REMOTE_ADDR=address, HTTP_USER_AGENT=agent)
    assert browser.post("/login", {"username": name, "password": password}).status_code == 302
    return browser


def is_in(browser):
    return browser.get("/sessions").status_code == 200


def sessions_of(browser, **query):
    return browser.get("/api/v1/sessions", query).json()["items"]


def post(browser, path, body):
    return browser.post(f"/api/v1/{path}", json.dumps(body), content_type="application/json")


def change(browser, current=PASSWORD, new=NEW, **more):
    form = {"current_password": current, "new_password": new, "repeated": new, **more}
    return browser.post("/account/password", form)


def test_a_list_shows_what_a_session_is_recognised_by(jane):
    here, there = log_in(), log_in(agent=SAFARI, address="2001:db8::7")

    sessions = sessions_of(here)

    assert [(session["browser"], session["address"], session["is_current"]) for session in sessions] == [
        ("Safari on iOS", "2001:db8::7", False),
        ("Firefox on Linux", "192.0.2.1", True),
    ]
    assert {"created_at", "last_used_at", "expires_at"} <= set(sessions[0])
    assert [session["is_current"] for session in sessions_of(there)] == [True, False]
    page = here.get("/sessions").content.decode()
    assert "Safari on iOS" in page
    assert page.count("this session") == 1


def test_no_secret_of_a_session_is_stored_or_shown(jane):
    browser = log_in()
    cookie = browser.cookies[settings.SESSION_COOKIE_NAME].value

    with connection.cursor() as cursor:
        cursor.execute("SELECT access_session::text FROM access_session")
        stored = cursor.fetchone()[0]

    assert cookie not in stored
    assert bytes(Session.objects.get().digest) == sha256(cookie.encode()).digest()
    for answer in (browser.get("/sessions"), browser.get("/api/v1/sessions")):
        assert cookie not in answer.content.decode()
    assert PASSWORD not in str([*AuditRecord.objects.values(), *Event.objects.values()])


def test_use_is_noted_to_the_minute_with_its_address(jane):
    browser = log_in()
    Session.objects.update(last_used_at=timezone.now() - timedelta(minutes=5))
    before = Session.objects.get().last_used_at

    browser.get("/sessions", REMOTE_ADDR="192.0.2.99")
    session = Session.objects.get()
    browser.get("/sessions", REMOTE_ADDR="192.0.2.100")

    assert session.last_used_at > before
    assert session.address == "192.0.2.99"
    assert Session.objects.get() == session
    assert Session.objects.get().last_used_at == session.last_used_at


def test_a_session_expires(jane):
    browser = log_in()
    Session.objects.update(expires_at=timezone.now() - timedelta(seconds=1))

    assert not is_in(browser)
    log_in()
    assert Session.objects.count() == 1


def test_a_person_ends_another_session_of_theirs(jane):
    here, there = log_in(), log_in(agent=SAFARI)
    other = next(session for session in sessions_of(here) if not session["is_current"])

    question = here.get(f"/sessions/{other['id']}/end").content.decode()
    ended = here.post(f"/sessions/{other['id']}/end")

    assert "End the session of Safari on iOS" in question
    assert ended.status_code == 302
    assert (is_in(here), is_in(there)) == (True, False)
    record = AuditRecord.objects.get(action="session.ended")
    assert (record.actor, record.object_id, record.before["browser"]) == (
        "jane",
        other["id"],
        "Safari on iOS",
    )
    assert Event.objects.get(type="session.ended").data == {"principal": "jane", "session_id": other["id"]}


def test_a_person_ends_all_other_sessions(jane):
    here, *other_browsers = log_in(), log_in(), log_in()

    assert "Sessions to end: 2" in here.get("/sessions/end-others").content.decode()
    here.post("/sessions/end-others")

    assert is_in(here)
    assert not any(map(is_in, other_browsers))


def test_ending_the_current_session_logs_out(jane):
    browser = log_in()
    (current,) = sessions_of(browser)

    browser.post(f"/sessions/{current['id']}/end")

    assert not is_in(browser)


def test_an_administrator_ends_the_sessions_of_others_and_nobody_else_does(jane):
    hers = log_in()
    person("eve", Role.EDITOR)
    eve, admin = log_in("eve"), logged_in("root", Role.ADMIN)
    (session,) = sessions_of(hers)

    assert eve.get("/sessions?principal=jane").status_code == 403
    assert eve.get("/api/v1/sessions?principal=jane").status_code == 403
    assert eve.get(f"/sessions/{session['id']}/end").status_code == 404
    assert eve.post(f"/sessions/{session['id']}/end").status_code == 404
    assert eve.delete(f"/api/v1/sessions/{session['id']}").status_code == 404
    assert eve.post("/sessions/end-others?principal=jane").status_code == 403
    assert post(eve, "sessions:end", {"principal": "jane"}).status_code == 403
    assert is_in(hers)

    assert [session["principal"] for session in sessions_of(admin, principal="jane")] == ["jane"]
    assert admin.post(f"/sessions/{session['id']}/end")["Location"] == "/sessions?principal=jane"
    assert not is_in(hers)
    again = log_in()
    assert post(admin, "sessions:end", {"principal": "jane"}).json() == {"ended": 1}
    assert not is_in(again)
    assert is_in(eve)


def test_sessions_are_ended_with_a_token_too(jane, api):
    browser = log_in()
    (session,) = api.get("sessions?principal=jane").json()["items"]

    tried = api.delete(f"sessions/{session['id']}?dry_run=true")
    assert (tried.status_code, is_in(browser)) == (204, True)

    assert api.delete(f"sessions/{session['id']}").status_code == 204
    assert not is_in(browser)
    assert api.delete(f"sessions/{session['id']}").status_code == 404
    assert api.post("sessions:end", {"principal": "nobody"}).json() == {"ended": 0}


def test_a_new_password_ends_the_other_sessions_and_keeps_this_one(jane):
    here, there = log_in(), log_in()

    changed = change(here)

    assert changed["Location"] == "/sessions"
    # Before the other browser asks again.
    assert Session.objects.count() == 1
    assert AuditRecord.objects.filter(action="session.ended").count() == 1
    assert (is_in(here), is_in(there)) == (True, False)
    assert Client().post("/login", {"username": "jane", "password": PASSWORD}).status_code == 422
    log_in(password=NEW)
    assert AuditRecord.objects.filter(action="principal.password_changed", object_id="jane").count() == 1
    assert Event.objects.get(type="principal.password_changed").data == {"principal": "jane"}


@pytest.mark.parametrize(
    ("form", "pointer"),
    [
        ({"current": "wrong password here"}, "/current_password"),
        ({"new": "short"}, "/new_password"),
        ({"new": "qwerty123456"}, "/new_password"),
        ({"new": PASSWORD}, "/new_password"),
        ({"repeated": "something else entirely"}, "/repeated"),
        ({"new": "x" * 129}, "/new_password"),
        ({"new": "with\0a nul in the middle"}, "/new_password"),
        ({"new": ""}, "/new_password"),
    ],
)
def test_a_password_that_cannot_be_taken_is_refused_and_nothing_changes(jane, form, pointer):
    here, there = log_in(), log_in()

    answer = change(here, **form)

    assert answer.status_code == 400
    assert f"<code>{pointer}</code>" in answer.content.decode()
    assert (is_in(here), is_in(there)) == (True, True)
    assert Principal.objects.get(name="jane").check_password(PASSWORD)
    assert not AuditRecord.objects.filter(action="principal.password_changed").exists()


def test_the_current_password_cannot_be_guessed_with_a_stolen_session(jane):
    browser = log_in()
    guesses = [
        change(browser, current=f"wrong-{number}").status_code for number in range(PER_NAME_AND_ADDRESS)
    ]

    refused = change(browser)

    assert set(guesses) == {400}
    assert (refused.status_code, refused["Retry-After"]) == (429, "300")


def test_a_password_is_changed_through_the_api(jane):
    here, there = log_in(), log_in()
    body = {"current_password": PASSWORD, "new_password": NEW}

    tried = post(here, "me:change-password?dry_run=true", body)
    assert (tried.status_code, is_in(there)) == (204, True)
    wrong = post(here, "me:change-password", {**body, "current_password": "wrong"})
    assert (wrong.status_code, wrong.json()["errors"][0]["pointer"]) == (400, "/current_password")

    assert post(here, "me:change-password", body).status_code == 204
    assert (is_in(here), is_in(there)) == (True, False)


def test_with_a_token_every_session_ends_and_the_token_goes_on(jane):
    browser = log_in()
    _, secret = principals.create_token(jane, name="t", expires_at=None, actor=ACTOR)
    body = {"current_password": PASSWORD, "new_password": NEW}

    changed = Api(secret).post("me:change-password", body, Idempotency_Key="k")

    assert changed.status_code == 204
    assert not is_in(browser)
    assert Api(secret).get("me").status_code == 200
    # A digest of the body would help to guess the password.
    assert not IdempotencyKey.objects.exists()


def test_who_has_no_password_is_told_so(db):
    body = {"current_password": PASSWORD, "new_password": NEW}

    answer = Api(token_for("admin")).post("me:change-password", body)

    assert (answer.status_code, answer.json()["code"]) == (403, "permission_denied")
    assert Api().post("me:change-password", body).status_code == 401


def test_of_two_changes_at_once_one_wins(transactional_db):
    person("jane")
    browsers = [log_in(), log_in()]

    def run(number):
        try:
            return change(browsers[number], new=f"{NEW} {number}").status_code
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        statuses = sorted(pool.map(run, range(2)))

    assert statuses[0] == 302
    # The other one is logged out already, or its current password is wrong by now.
    assert statuses[1] in (302, 400)
    stored = Principal.objects.get(name="jane")
    assert [stored.check_password(f"{NEW} {number}") for number in range(2)].count(True) == 1
    assert AuditRecord.objects.filter(action="principal.password_changed").count() == 1


def test_switching_a_person_off_ends_their_sessions(jane, api):
    browser = log_in()

    api.patch("principals/jane", {"is_active": False})

    assert not is_in(browser)


def test_the_page_sends_no_password_back(jane):
    answer = change(log_in(), current="my secret guess", new="short")

    assert "my secret guess" not in answer.content.decode()
    assert not re.search(r'type="password"[^>]*value=', answer.content.decode())


@pytest.mark.parametrize(
    ("user_agent", "name"),
    [
        (FIREFOX, "Firefox on Linux"),
        (SAFARI, "Safari on iOS"),
        ("Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/142.0 Safari/537.36 Edg/142.0", "Edge on Windows"),
        ("Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Chrome/142.0 Safari/537.36", "Chrome on macOS"),
        ("Mozilla/5.0 (Linux; Android 15) Chrome/142.0 Mobile Safari/537.36", "Chrome on Android"),
        ("curl/8.5.0", "curl/8.5.0"),
        ("<script>alert(1)</script>", ""),
        ("", ""),
        ("x" * 500, "x" * 30),
    ],
)
def test_a_browser_has_a_name(user_agent, name):
    assert browser_name(user_agent) == name
