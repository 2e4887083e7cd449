"""Emergency access: opened on the host, visible everywhere, and over by itself."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db.models import F

from controlplane.access import principals
from controlplane.access.emergency_models import EmergencyAccess
from controlplane.access.models import AuditRecord, Principal, PrincipalKind, RoleBinding, Token
from controlplane.events.models import Event
from controlplane.identity.roles import Role
from controlplane.scopes import Scope
from tests.support.api_client import ACTOR, Api, logged_in, make_principal

REASON = "the identity provider is down"
pytestmark = pytest.mark.django_db


@pytest.fixture
def ann() -> Principal:
    return principals.create_principal("ann", kind=PrincipalKind.PERSON, actor=ACTOR)


def break_glass(*arguments: str) -> str:
    output = StringIO()
    call_command("break_glass", *arguments, stdout=output)
    return output.getvalue()


def opened(name: str = "ann", minutes: int = 60) -> str:
    """Open emergency access and return its token."""
    output = break_glass("--principal", name, "--minutes", str(minutes), "--reason", REASON)
    return next(word for word in output.split() if word.startswith("cp_pat_"))


def pass_time(hours: int) -> None:
    """Make everything with an end end so much sooner."""
    for model, field in ((Token, "expires_at"), (RoleBinding, "expires_at"), (EmergencyAccess, "ends_at")):
        model.objects.filter(**{f"{field}__isnull": False}).update(
            **{field: F(field) - timedelta(hours=hours)}
        )


def test_it_gives_the_role_admin_until_it_ends_by_itself(ann):
    api = Api(opened())
    grants = api.get("me").json()["grants"]

    assert [grant["role"] for grant in grants] == ["admin"]
    assert api.post("principals", {"name": "ci", "kind": "service"}).status_code == 201

    pass_time(2)

    assert api.get("me").status_code == 401
    assert principals.get_principal("ann").role_bindings.exclude(expires_at=None).count() == 1
    _, own = principals.create_token(ann, name="own", expires_at=None, actor=ACTOR)
    assert Api(own).get("principals").status_code == 403


def test_tokens_made_with_it_end_with_it(ann):
    make_principal("admin", name="robot")
    api = Api(opened())

    default = api.post("tokens", {"name": "child", "principal": "robot"}).json()
    endless = api.post("tokens", {"name": "child", "principal": "robot", "expires_at": None})
    longer = api.post("tokens", {"name": "child", "expires_at": "2099-01-01T00:00:00Z"})

    assert default["expires_at"] == EmergencyAccess.objects.get().ends_at.isoformat().replace("+00:00", "Z")
    assert [answer.json()["errors"][0]["code"] for answer in (endless, longer)] == ["outlives_its_issuer"] * 2
    break_glass("--principal", "ann", "--close")
    assert Api(default["token"]).get("me").status_code == 401


def test_tokens_made_in_a_session_meanwhile_end_with_it_too(ann):
    browser = logged_in("bob", Role.VIEWER)
    opened("bob")

    made = browser.post("/api/v1/tokens", {"name": "mine"}, content_type="application/json").json()
    assert Api(made["token"]).get("me").status_code == 200
    break_glass("--principal", "bob", "--close")

    assert Api(made["token"]).get("me").status_code == 401
    grants = browser.get("/api/v1/me").json()["grants"]
    assert [grant["role"] for grant in grants] == ["viewer"]


def test_it_is_recorded_with_its_reason_and_announced(ann):
    secret = opened()

    record = AuditRecord.objects.get(action="access.break_glass_opened")
    event = Event.objects.get(type="access.break_glass_opened")
    assert (record.actor, record.reason, record.object_id) == ("system:break-glass", REASON, "ann")
    assert event.data["reason"] == REASON
    assert secret not in f"{record.after}{event.data}"


def test_every_page_shows_it_while_it_is_open(ann):
    browser = logged_in("eve", Role.VIEWER)
    assert "Emergency access" not in browser.get("/").content.decode()
    opened()

    for path in ("/", "/agents", "/events", "/tokens"):
        assert "Emergency access: ann is an administrator until" in browser.get(path).content.decode(), path

    break_glass("--principal", "ann", "--close")
    assert "Emergency access" not in browser.get("/").content.decode()


def test_it_does_not_count_as_the_last_administrator(ann):
    admin = make_principal("admin", name="root")
    binding = RoleBinding.objects.get(principal=admin)
    secret = opened()

    refused = Api(secret).delete(f"role-bindings/{binding.id}")

    assert refused.status_code == 409
    assert refused.json()["code"] == "last_administrator"


def test_it_can_be_closed_when_nobody_else_is_administrator(ann):
    secret = opened()

    break_glass("--principal", "ann", "--close")

    assert Api(secret).get("me").status_code == 401
    assert not RoleBinding.objects.exists()
    assert AuditRecord.objects.filter(action="access.break_glass_closed").exists()


def test_an_administrator_keeps_the_role_afterwards():
    make_principal("admin", name="root")
    opened("root")

    break_glass("--principal", "root", "--close")

    assert RoleBinding.objects.get(principal__name="root").expires_at is None


def test_it_can_be_opened_again_after_its_end(ann):
    opened()
    pass_time(2)

    assert Api(opened(minutes=5)).get("me").json()["grants"][0]["role"] == "admin"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--principal", "nobody", "--reason", "x"), "does not exist"),
        (("--principal", "ann"), "State the reason"),
        (("--principal", "ann", "--reason", "x", "--minutes", "0"), "between 1 and 480"),
        (("--principal", "ann", "--reason", "x", "--minutes", "481"), "between 1 and 480"),
        (("--principal", "ann", "--close"), "no open emergency access"),
    ],
)
def test_mistakes_are_explained(ann, arguments, message):
    with pytest.raises(CommandError, match=message):
        break_glass(*arguments)

    assert not Token.objects.exists()


def test_a_second_one_for_the_same_principal_is_refused(ann):
    opened()

    with pytest.raises(CommandError, match="already has open emergency access"):
        opened()


def test_a_disabled_principal_and_a_setting_forbid_it(ann, settings):
    Principal.objects.update(is_active=False)
    with pytest.raises(CommandError, match="is disabled"):
        opened()

    settings.BREAK_GLASS = False
    with pytest.raises(CommandError, match="turned off by the setting BREAK_GLASS"):
        opened()


def test_a_role_that_ends_sooner_is_replaced(ann):
    opened(minutes=1)
    break_glass("--principal", "ann", "--close")
    terms = {"principal": ann, "role": "admin", **Scope().segments}
    RoleBinding.objects.create(**terms, expires_at=EmergencyAccess.objects.get().ends_at)

    opened(minutes=60)

    assert RoleBinding.objects.get().expires_at == EmergencyAccess.objects.latest("opened_at").ends_at
