"""HTTP endpoint for signed snapshots of effective values."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.api.endpoints import Endpoint, caller_of
from controlplane.api.fields import Query, Whole, parse_body
from controlplane.database.clock import statement_now
from controlplane.identity.roles import Action
from controlplane.signing_keys import signing_keys
from overrides.api.effective.scope_sets import PROBLEMS, ScopeSetWrite, readable_scopes
from overrides.api.effective.value_items import value_item
from overrides.effective.effective import values_many
from overrides.effective.signed_snapshots import envelope, payload
from overrides.loading.revisions import current_revision

_DAY = 24 * 60 * 60
_REQUEST = OpenApiExample(
    "Two scopes, for a week",
    request_only=True,
    value={"scopes": [{}, {"domain": "development"}], "valid_seconds": 7 * _DAY},
)
_CONTENT = {
    "created_at": "2026-11-21T09:30:00Z",
    "expires_at": "2026-11-22T09:30:00Z",
    "revision": 41,
    "resource_type": "",
    "items": [],
}
_ANSWER = OpenApiExample(
    "Signed with one key",
    response_only=True,
    value={
        **envelope(payload(_CONTENT), ()),
        "signatures": [{"keyid": "k0123456789abcdef", "sig": "c2lnbmF0dXJl"}],
    },
)


class SnapshotWrite(ScopeSetWrite):
    valid_seconds = Whole(
        required=False,
        default=_DAY,
        min_value=60,
        max_value=30 * _DAY,
        help_text="After this, readers that choose no age of their own refuse the snapshot.",
    )


class SnapshotSignature(serializers.Serializer[Any]):
    keyid = serializers.CharField(help_text="`k` and 16 digits of the SHA-256 of the public key.")
    sig = serializers.CharField(help_text="Ed25519, in base64.")


class SnapshotRead(serializers.Serializer[Any]):
    """A DSSE envelope."""

    payloadType = serializers.CharField()
    payload = serializers.CharField(help_text="JSON in base64: when and at which revision, and the values.")
    signatures = SnapshotSignature(many=True, help_text="One for each signing key; empty without keys.")


class EffectiveSnapshot(Endpoint):
    actions = {"POST": Action.OVERRIDE_READ}
    problems = {"POST": PROBLEMS}

    @extend_schema(
        operation_id="overrides_effective_snapshot",
        summary="Get a signed snapshot of the effective values at up to 1,000 scopes",
        description=(
            "For programs that must start while the control plane is away: the values of all scopes at one"
            " revision, as a file. It is a DSSE envelope, signed with the keys of"
            " `AGENT_CONFIGS_SIGNING_KEYS`. The Python client and `cpctl effective verify` read it. A read"
            " operation; it uses POST because the list of scopes can be long."
        ),
        tags=["overrides"],
        request=SnapshotWrite,
        responses=SnapshotRead,
        examples=[_REQUEST, _ANSWER],
    )
    def post(self, request: Request) -> Response:
        Query.parse(request)
        body = parse_body(SnapshotWrite, request)
        scopes = sorted(
            readable_scopes(body["scopes"], caller_of(request)), key=lambda scope: (scope.level, scope.path)
        )
        query = {"resource_type": body["resource_type"]}
        revision = current_revision()
        values = values_many(scopes, **query)
        if current_revision() != revision:
            values = values_many(scopes, **query, as_of=revision)
        made_at = statement_now()
        content = {
            "created_at": made_at,
            "expires_at": made_at + timedelta(seconds=body["valid_seconds"]),
            "revision": revision,
            **query,
            "items": [value_item(each).content for each in values],
        }
        return Response(envelope(payload(content), signing_keys()))
