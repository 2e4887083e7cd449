"""The console: log in, look, and be told clearly what is wrong."""

import re

import pytest
from django.test import Client

from console.login import ALLOWED_FAILURES
from controlplane.access import principals
from controlplane.access.models import PrincipalKind
from controlplane.access.roles import Role
from controlplane.demo import seed
from controlplane.scopes import Scope
from tests.api_client import ACTOR

PASSWORD = "a rather long password"
WORKFLOW = "/overrides?project=flytesnacks&domain=development&workflow=MyExampleWorkflow"
PAGES = ["/", "/overrides", WORKFLOW, "/agents", "/agents?state=ready"]


def make_person(name="jane", role=Role.ADMIN, scope=Scope()):
    person = principals.create_principal(name, kind=PrincipalKind.PERSON, password=PASSWORD, actor=ACTOR)
    principals.bind_role(person, role, scope, actor=ACTOR)
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

    said = {"username": "jane", "password": PASSWORD, "next": "/agents", "csrfmiddlewaretoken": csrf}
    answer = client.post("/login", said)

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
    assert "do not fit" in answer.content.decode()


def test_guessing_is_braked_even_with_the_right_password_in_the_end(db):
    make_person()
    client = Client()
    for _ in range(ALLOWED_FAILURES):
        client.post("/login", {"username": "jane", "password": "wrong"})

    answer = client.post("/login", {"username": "jane", "password": PASSWORD})

    assert (answer.status_code, answer["Retry-After"]) == (429, "300")
    assert "Wait five minutes" in answer.content.decode()


def test_the_brake_holds_without_the_cache(db, settings):
    make_person()
    settings.CACHES = {
        "default": {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": "redis://127.0.0.1:1/0",
        }
    }
    client = Client(REMOTE_ADDR="10.0.0.9")
    for _ in range(ALLOWED_FAILURES):
        client.post("/login", {"username": "jane", "password": "wrong"})

    assert client.post("/login", {"username": "jane", "password": PASSWORD}).status_code == 429


@pytest.mark.parametrize("page", PAGES)
def test_a_page_shows_the_demo_without_inline_style_or_script(browser, page):
    answer = browser.get(page)

    text = answer.content.decode()
    assert answer.status_code == 200
    assert "unsafe-inline" not in answer["Content-Security-Policy"]
    assert " style=" not in text
    assert "<script" not in text
    assert " on" not in re.findall(r"<[^>]*\s(on\w+)=", text)


def test_the_effective_page_names_sources_and_what_lost(browser):
    text = browser.get(WORKFLOW).content.decode()

    assert "limits › cpu" in text
    assert "project=flytesnacks domain=development workflow=MyExampleWorkflow" in text
    assert "<s>1Gi</s>" in text
    assert re.search(r">true</td>", text), "values are shown as JSON, as the API shows them"
    launch_plan = browser.get(f"{WORKFLOW}&launch_plan=nightly").content.decode()
    assert "removed" in launch_plan


@pytest.mark.parametrize(
    ("query", "words"), [("workflow=w", "also needs"), ("project=flytesnack", "Did you mean")]
)
def test_a_scope_that_is_none_is_a_message_and_no_error(browser, query, words):
    answer = browser.get(f"/overrides?{query}")

    assert answer.status_code == 422
    assert words in answer.content.decode()


def test_what_people_type_is_escaped(browser):
    assert "<b>x" not in browser.get("/overrides?project=<b>x").content.decode()


def test_who_may_not_see_a_page_is_told_what_is_missing(db):
    client = Client()
    client.force_login(make_person("joe", Role.VIEWER, Scope(project="ads")))

    answer = client.get("/agents")

    assert answer.status_code == 403
    assert "needs one of the roles" in answer.content.decode()


def test_logging_out_ends_the_session(browser):
    assert browser.get("/logout").status_code == 405
    browser.post("/logout")

    assert browser.get("/").status_code == 302
