"""Upstream's `auth:` configuration as a value. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import urljoin

from controlplane.access.flyte_auth.static_clients import StaticClient

SELF, EXTERNAL = "self", "external"
AUTHORIZATION_HEADER = "flyte-authorization"
_METADATA_PATH = ".well-known/oauth-authorization-server"


@dataclass(frozen=True, slots=True)
class OpenId:
    """The identity provider of the console. issuer_url: overrides the issuer where base_url is another."""

    base_url: str = ""
    issuer_url: str = ""
    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    client_secret_name: str = "oidc_client_secret"  # noqa: S105  (a name)
    scopes: tuple[str, ...] = ("openid", "profile")

    @property
    def issuer(self) -> str:
        return self.issuer_url or self.base_url


@dataclass(frozen=True, slots=True)
class UserAuth:
    """How people log in to the console."""

    open_id: OpenId = OpenId()
    redirect_url: str = "/console"
    idp_query_parameter: str = ""


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """Lifetimes in seconds of what the built-in authorization server issues."""

    access_token: int = 1800
    refresh_token: int = 3600
    authorization_code: int = 300


@dataclass(frozen=True, slots=True)
class ExternalServer:
    """An authorization server that is not ours. metadata_url: relative to base_url, or absolute."""

    base_url: str = ""
    allowed_audience: tuple[str, ...] = ()
    metadata_url: str = ""
    retry_attempts: int = 5
    retry_delay: int = 1

    @property
    def metadata_address(self) -> str:
        return urljoin(self.base_url.rstrip("/") + "/", self.metadata_url or _METADATA_PATH)


@dataclass(frozen=True, slots=True)
class FlyteClient:
    """What Flyte's clients use for their login, unless their own configuration says otherwise."""

    client_id: str = "flytectl"
    redirect_uri: str = "http://localhost:53593/callback"
    scopes: tuple[str, ...] = ("all", "offline")
    audience: str = ""


@dataclass(frozen=True, slots=True)
class FlyteAuth:
    """Upstream's `auth:` section. is_enabled: None if the file does not decide it.

    internal_client_id: of Flyte's own components at an external server.
    """

    is_enabled: bool | None = None
    http_header: str = AUTHORIZATION_HEADER
    grpc_header: str = AUTHORIZATION_HEADER
    authorized_uris: tuple[str, ...] = ()
    server: str = SELF
    issuer: str = ""
    user: UserAuth = UserAuth()
    lifetimes: Lifetimes = Lifetimes()
    external: ExternalServer = ExternalServer()
    client: FlyteClient = FlyteClient()
    static_clients: tuple[StaticClient, ...] = ()
    internal_client_id: str = ""
    warnings: tuple[str, ...] = ()
