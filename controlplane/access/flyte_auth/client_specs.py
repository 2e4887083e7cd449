"""What upstream's static clients are here. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from controlplane.access.flyte_auth.static_clients import CLIENT_CREDENTIALS, StaticClient
from controlplane.access.oauth import scopes
from controlplane.access.oauth.client_specs import BUILT_IN, ClientSpec

_DEVICE = "urn:ietf:params:oauth:grant-type:device_code"
_DEFAULT_SCOPES = ("all", "offline")


def client_specs(clients: Iterable[StaticClient]) -> list[ClientSpec]:
    """Return the specs of the clients, without built-in ones such as flytectl, which can do more here."""
    built_in = {spec.client_id for spec in BUILT_IN}
    return [_spec(client) for client in clients if client.client_id not in built_in]


def _spec(client: StaticClient) -> ClientSpec:
    # Upstream's clients have the scope `access_token`, which means nothing here.
    known_scopes = tuple(scope for scope in client.scopes if scopes.is_known(scope)) or _DEFAULT_SCOPES
    grants = tuple("device_code" if grant == _DEVICE else grant for grant in client.grant_types)
    if not client.redirect_uris:
        grants = tuple(grant for grant in grants if grant != "authorization_code")
    return ClientSpec(
        client.client_id,
        is_public=client.is_public,
        redirect_uris=client.redirect_uris if "authorization_code" in grants else (),
        grants=grants,
        scopes=known_scopes,
        default_scopes=tuple(scope for scope in _DEFAULT_SCOPES if scope in known_scopes),
        audiences=client.audience,
        principal=client.client_id if CLIENT_CREDENTIALS in grants else "",
        bcrypt_hash=client.secret_hash,
    )
