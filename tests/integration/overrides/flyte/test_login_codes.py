"""Codes on which Flyte's clients log in: UNAUTHENTICATED without a valid token alone, and never UNKNOWN."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import grpc
import pytest
from django.db import OperationalError, connections
from flyteidl.admin import project_pb2, version_pb2
from flyteidl.service import auth_pb2, identity_pb2
from flyteidl.service.admin_pb2_grpc import AdminServiceStub
from flyteidl.service.auth_pb2_grpc import AuthMetadataServiceStub
from flyteidl.service.identity_pb2_grpc import IdentityServiceStub
from google.protobuf import json_format

from controlplane.access.login.user_info import UserInfo
from controlplane.access.models import Principal, Token
from controlplane.access.team_models import Membership, Team
from controlplane.access.tokens import digest
from overrides.flyte import calls, grpc_server, grpc_services
from overrides.flyte.errors import Code, FlyteError
from tests.support.api_client import make_project, token_for

KEYS = ("flyte-authorization", "authorization")


@pytest.fixture
def local(transactional_db, monkeypatch, settings) -> Iterator[grpc.Channel]:
    """A server in this process, so that its parts can be made to fail."""
    # Its threads must not hold the test database.
    monkeypatch.setattr(grpc_services, "close_old_connections", connections.close_all)
    settings.EFFECTIVE_SNAPSHOT_MIB = 0
    options = grpc_server.ListenOptions("127.0.0.1", 0, 2, 1024 * 1024)
    port: Future[int] = Future()
    stop = threading.Event()

    async def until(server: grpc_server.FlyteServer, own_port: int) -> None:
        port.set_result(own_port)
        await asyncio.to_thread(stop.wait)

    thread = threading.Thread(target=lambda: grpc_server.serve(options, grace=1, until=until))
    thread.start()
    with grpc.insecure_channel(f"127.0.0.1:{port.result(10)}") as channel:
        yield channel
    stop.set()
    thread.join()


def code_of(call: Any, request: Any, **more: Any) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.RpcError) as refused:
        call(request, **more)
    return refused.value.code(), refused.value.details()


def bearer(token: str, key: str = "authorization") -> tuple[tuple[str, str], ...]:
    return ((key, f"Bearer {token}"),)


def limited(token: str, *scopes: str) -> str:
    """The token with a ceiling."""
    Token.objects.filter(digest=digest(token)).update(scopes=list(scopes))
    return token


@pytest.mark.parametrize(
    "metadata",
    [
        (),
        bearer("cp_pat_nonsense"),
        bearer("a.b.c"),
        (("authorization", "Basic eDp5"),),
        (("flyte-authorization", "Bearer "),),
        (("authorization", "Bearer"),),
    ],
)
def test_without_a_valid_token_every_call_is_unauthenticated(local, metadata):
    for call, request in (
        (AdminServiceStub(local).ListProjects, project_pb2.ProjectListRequest()),
        (AdminServiceStub(local).RegisterProject, project_pb2.ProjectRegisterRequest()),
        (IdentityServiceStub(local).UserInfo, identity_pb2.UserInfoRequest()),
    ):
        code, _ = code_of(call, request, metadata=metadata)
        assert code is grpc.StatusCode.UNAUTHENTICATED


def test_metadata_and_the_version_need_no_token(local):
    stub = AuthMetadataServiceStub(local)

    assert stub.GetOAuth2Metadata(auth_pb2.OAuth2MetadataRequest()).token_endpoint
    assert stub.GetPublicClientConfig(auth_pb2.PublicClientAuthConfigRequest()).client_id
    assert AdminServiceStub(local).GetVersion(version_pb2.GetVersionRequest()).control_plane_version.Version


@pytest.mark.parametrize("key", KEYS)
def test_a_token_is_read_from_both_keys(local, key):
    make_project()

    answer = AdminServiceStub(local).ListProjects(
        project_pb2.ProjectListRequest(), metadata=bearer(token_for("viewer"), key)
    )

    assert [project.id for project in answer.projects] == ["flytesnacks"]


def test_flytes_key_wins_over_that_of_a_proxy(local):
    metadata = (("authorization", "Basic eDp5"), *bearer(token_for("viewer"), "flyte-authorization"))

    AdminServiceStub(local).ListProjects(project_pb2.ProjectListRequest(), metadata=metadata)


def test_another_key_can_be_configured(local, settings):
    settings.FLYTE_AUTHORIZATION_HEADERS = ["x-flyte"]
    call, request = AdminServiceStub(local).ListProjects, project_pb2.ProjectListRequest()

    call(request, metadata=bearer(token_for("viewer"), "x-flyte"))

    code, _ = code_of(call, request, metadata=bearer(token_for("viewer"), "flyte-authorization"))
    assert code is grpc.StatusCode.UNAUTHENTICATED


@pytest.mark.parametrize("scopes", [("read",), ("agents",), ("openid", "offline")])
def test_a_missing_scope_has_upstreams_code_and_text(local, scopes):
    make_project()
    request = project_pb2.Project(id="flytesnacks", name="x")
    metadata = bearer(limited(token_for("admin"), *scopes))

    code, details = code_of(AdminServiceStub(local).UpdateProject, request, metadata=metadata)

    assert code is grpc.StatusCode.PERMISSION_DENIED
    assert details == "authenticated user doesn't have required scope"


def test_a_missing_role_is_not_reported_as_a_missing_scope(local):
    make_project()
    request = project_pb2.Project(id="flytesnacks", name="x")

    for scopes in (("all", "offline"), ("overrides",)):
        metadata = bearer(limited(token_for("viewer"), *scopes))
        code, details = code_of(AdminServiceStub(local).UpdateProject, request, metadata=metadata)
        assert code is grpc.StatusCode.PERMISSION_DENIED
        assert "required scope" not in details


@pytest.mark.parametrize("scope", ["all", "read", "overrides"])
def test_a_fitting_ceiling_allows_the_call(local, scope):
    make_project()
    metadata = bearer(limited(token_for("admin"), scope))

    assert AdminServiceStub(local).ListProjects(project_pb2.ProjectListRequest(), metadata=metadata).projects


# Whatever fails is never UNKNOWN, on which flytekit opens the browser.


def failing(*arguments: Any, **more: Any) -> Any:
    raise ZeroDivisionError("hunter2")


def database_away(*arguments: Any, **more: Any) -> Any:
    raise OperationalError("the server closed the connection")


@pytest.mark.parametrize(
    ("place", "failure", "expected"),
    [
        ("overrides.flyte.calls.caller_by_header", failing, grpc.StatusCode.INTERNAL),
        ("overrides.flyte.calls.caller_by_header", database_away, grpc.StatusCode.UNAVAILABLE),
        ("overrides.flyte.calls.check_storable", failing, grpc.StatusCode.INTERNAL),
        ("overrides.flyte.calls.count_token", failing, grpc.StatusCode.INTERNAL),
        ("overrides.flyte.calls.from_ours", failing, grpc.StatusCode.INTERNAL),
        ("overrides.flyte.grpc_services.choose", failing, grpc.StatusCode.INTERNAL),
        ("overrides.flyte.grpc_services.close_old_connections", failing, grpc.StatusCode.INTERNAL),
        ("overrides.flyte.grpc_services.authorization_of", failing, grpc.StatusCode.INTERNAL),
    ],
)
def test_a_failure_anywhere_is_never_unknown(local, monkeypatch, place, failure, expected):
    token = token_for("viewer") if place.endswith("from_ours") else token_for("admin")
    monkeypatch.setattr(place, failure)
    request = project_pb2.Project(id="missing")

    code, details = code_of(AdminServiceStub(local).UpdateProject, request, metadata=bearer(token))

    assert code is expected
    assert "hunter2" not in details


def test_a_request_that_is_no_message_is_not_unknown(local):
    call = local.unary_unary("/flyteidl.service.AdminService/GetProject")

    code, _ = code_of(call, b"\xff\xff\xff")

    assert code is grpc.StatusCode.INTERNAL


def test_no_error_has_the_code_unknown():
    assert all(code is not Code.UNKNOWN for _, code in calls.from_ours.__globals__["_CODES"])


# Who the caller is.


def test_user_info_names_the_caller_and_its_teams(local):
    token = token_for("admin")
    principal = Principal.objects.get(tokens__digest=digest(token))
    Principal.objects.filter(id=principal.id).update(display_name="Ada Lovelace", email="ada@example.com")
    for slug in ("ml", "data"):
        Membership.objects.create(team=Team.objects.create(slug=slug), principal=principal)

    info = IdentityServiceStub(local).UserInfo(identity_pb2.UserInfoRequest(), metadata=bearer(token))

    assert (info.subject, info.name, info.email) == (principal.name, "Ada Lovelace", "ada@example.com")
    assert info.preferred_username == principal.name
    assert json_format.MessageToDict(info.additional_claims)["groups"] == ["data", "ml"]


def test_an_anonymous_reader_has_an_empty_message(local, settings):
    settings.ANONYMOUS_READ = True

    info = IdentityServiceStub(local).UserInfo(identity_pb2.UserInfoRequest())

    assert info == identity_pb2.UserInfoResponse()


def test_headers_for_proxies():
    info = UserInfo(subject="42", additional_claims={"groups": ["ml", "é"], "tenant_id": "x"})

    assert info.headers() == {
        "X-User-Subject": "42",
        "X-User-Claim-groups": json.dumps(["ml", "é"]),
        "X-User-Claim-tenant-id": '"x"',
    }
    assert UserInfo().headers() == {}
    assert info.as_json()["additionalClaims"]["groups"] == ["ml", "é"]


def test_a_flyte_error_reaches_http_with_the_same_code(db):
    with pytest.raises(FlyteError) as refused:
        calls.answer("UserInfo", identity_pb2.UserInfoRequest(), authorization="", transport="http")
    assert refused.value.code is Code.UNAUTHENTICATED
