"""Which requests are plain polls, and who gets 304 without Django."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest

from controlplane.identity.callers import Caller, Tenant
from controlplane.identity.grants import Grant, TeamRef
from controlplane.identity.roles import Role
from controlplane.scopes import Scope
from controlplane.web.fast_requests import RawHead
from registry.agent_configs.delivery.data_planes import Format
from registry.api.agent_configs.fast_connection import ActiveBundle
from registry.api.agent_configs.fast_path import has_current, may_poll
from registry.api.agent_configs.fast_requests import PollHeads

PATH = "/api/v1/data-planes/eu-1/config"
HEADERS = [(b"host", b"testserver"), (b"authorization", b"Bearer x"), (b"if-none-match", b'"e"')]
TEAM = TeamRef(UUID(int=1), "acme")
COLLECTOR = Caller(UUID(int=9), "collector", "service", (Grant(Role.AGENT),))
BUNDLE = ActiveBundle(principal="collector", owner=None, version=3, revision=7, digest="abc")


def head_of(path=PATH, query=b"", method="GET", headers=HEADERS):
    return PollHeads().read(RawHead(method, path, query, headers, "http"))


@pytest.mark.parametrize(
    ("query", "config_format"),
    [
        (b"", Format.YAML),
        (b"wait=0", Format.YAML),
        (b"format=json", Format.JSON),
        (b"format=configmap&wait=0", Format.CONFIG_MAP),
    ],
)
def test_plain_polls(query, config_format):
    head = head_of(query=query)

    assert head is not None
    assert (head.data_plane, head.format, head.etag) == ("eu-1", config_format, b'"e"')


@pytest.mark.parametrize(
    "other",
    [
        {"method": "HEAD"},
        {"headers": HEADERS[:-1]},
        {"headers": [*HEADERS[:-1], (b"if-none-match", b"*")]},
        *({"query": query} for query in (b"wait=1", b"format=", b"format=xml", b"wait=0&wait=0", b"x=1")),
        *(
            {"path": path}
            for path in (f"{PATH}/", "/api/v1/data-planes/a,b/config", PATH.replace("eu", "EU"))
        ),
    ],
)
def test_other_requests_are_left(other):
    assert head_of(**other) is None


@pytest.mark.parametrize(
    ("query", "etag", "is_current"),
    [
        (b"", b'"abc.yaml.7"', True),
        (b"", b'"abc.yaml.6"', False),
        (b"", b'"abc.json.7"', False),
        (b"format=json", b'"abc.json.7"', True),
        (b"format=configmap", b'"abc.configmap.7.v3"', True),
        (b"format=configmap", b'"abc.configmap.7.v2"', False),
    ],
)
def test_the_etag_names_format_digest_and_revision(query, etag, is_current):
    head = head_of(query=query, headers=[*HEADERS[:-1], (b"if-none-match", etag)])

    assert head is not None
    assert has_current(head, BUNDLE) is is_current


@pytest.mark.parametrize(
    ("caller", "owner", "allowed"),
    [
        (COLLECTOR, None, True),
        (COLLECTOR, TEAM.id, True),
        (replace(COLLECTOR, name="other"), None, False),
        (replace(COLLECTOR, principal_id=None), None, False),
        (replace(COLLECTOR, grants=(Grant(Role.VIEWER),)), None, False),
        (replace(COLLECTOR, grants=(Grant(Role.AGENT, Scope(project="p")),)), None, False),
        (replace(COLLECTOR, grants=(Grant(Role.AGENT, team=TEAM),)), TEAM.id, True),
        (replace(COLLECTOR, grants=(Grant(Role.AGENT, team=TEAM),)), None, False),
        (replace(COLLECTOR, tenant=Tenant(UUID(int=5), "acme")), None, False),
    ],
)
def test_the_principal_of_the_data_plane_alone_gets_an_answer(caller, owner, allowed):
    assert may_poll(caller, replace(BUNDLE, owner=owner)) is allowed
