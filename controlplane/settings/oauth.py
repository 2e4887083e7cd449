"""The OAuth 2 authorization server: its public address, lifetimes and protocol rules."""

from typing import Any

from controlplane.access.login.redirects import origin_of
from controlplane.settings import environment as env
from controlplane.settings.login import PUBLIC_URL

__all__ = [
    "ACCESS_TOKEN_FORMAT",
    "AUTHORIZED_URIS",
    "AUTH_SERVER",
    "OAUTH2_PROVIDER",
    "OAUTH2_PROVIDER_ACCESS_TOKEN_MODEL",
    "OAUTH2_PROVIDER_APPLICATION_MODEL",
    "OAUTH2_PROVIDER_DEVICE_GRANT_MODEL",
    "OAUTH2_PROVIDER_GRANT_MODEL",
    "OAUTH2_PROVIDER_ID_TOKEN_MODEL",
    "OAUTH2_PROVIDER_REFRESH_TOKEN_MODEL",
    "OAUTH_ACCESS_TOKEN_SECONDS",
    "OAUTH_CLIENT_SECRET_DAYS",
    "OAUTH_CODE_SECONDS",
    "OAUTH_DEVICE_CODE_SECONDS",
    "OAUTH_DEVICE_INTERVAL_SECONDS",
    "OAUTH_FAILURES_PER_MINUTE",
    "OAUTH_FAMILY_SECONDS",
    "OAUTH_REFRESH_GRACE_SECONDS",
    "OAUTH_REFRESH_TOKEN_SECONDS",
    "OIDC_PROVIDER",
    "SIGNING_KEY_DAYS",
]

_MAX_REFRESH_SECONDS = 90 * 24 * 3600


def _origins(raw: str) -> list[str]:
    return [origin_of(part.strip()) for part in raw.split(",") if part.strip()]


def _servers(raw: str) -> frozenset[str]:
    modes = frozenset(part.strip() for part in raw.split(",") if part.strip())
    if not modes or modes - {"self", "external"}:
        raise ValueError("use self, external, or self,external")
    return modes


def _format(raw: str) -> str:
    if raw not in ("opaque", "jwt"):
        raise ValueError("use opaque or jwt")
    return raw


def _seconds(name: str, default: int, maximum: int, meaning: str) -> int:
    def parse(raw: str) -> int:
        seconds = int(raw)
        if not 1 <= seconds <= maximum:
            raise ValueError(f"must be from 1 to {maximum}")
        return seconds

    return env.parsed(name, parse, default=str(default), meaning=f"{meaning} At most {maximum}.")


AUTH_SERVER = env.parsed(
    "AUTH_SERVER",
    _servers,
    default="self",
    meaning="Who issues access tokens: `self` (the authorization server at /oauth2), `external` (issuers of"
    " JWTs), or `self,external`.",
)
AUTHORIZED_URIS = env.parsed(
    "AUTHORIZED_URIS",
    _origins,
    default="",
    meaning="Further public addresses, comma-separated, that tokens may name as their audience.",
)
ACCESS_TOKEN_FORMAT = env.parsed(
    "ACCESS_TOKEN_FORMAT",
    _format,
    default="opaque",
    meaning="Format of access tokens for other resource servers: `opaque`, or `jwt` (RFC 9068) for audiences"
    " that the client may request. Tokens for this server are always opaque.",
)
OIDC_PROVIDER = env.boolean(
    "OIDC_PROVIDER",
    default=False,
    meaning="Issue ID tokens for the scope `openid`, so that other applications can log people in here.",
)
OAUTH_ACCESS_TOKEN_SECONDS = _seconds(
    "OAUTH_ACCESS_TOKEN_SECONDS", 1800, 12 * 3600, "Lifetime of access tokens in seconds."
)
OAUTH_REFRESH_TOKEN_SECONDS = _seconds(
    "OAUTH_REFRESH_TOKEN_SECONDS",
    3600,
    _MAX_REFRESH_SECONDS,
    "Seconds until an unused refresh token expires.",
)
OAUTH_FAMILY_SECONDS = _seconds(
    "OAUTH_FAMILY_SECONDS",
    14 * 24 * 3600,
    _MAX_REFRESH_SECONDS,
    "Seconds from a login until its refresh tokens expire, however often they are used.",
)
OAUTH_CODE_SECONDS = _seconds("OAUTH_CODE_SECONDS", 300, 600, "Lifetime of authorization codes in seconds.")
OAUTH_DEVICE_CODE_SECONDS = _seconds(
    "OAUTH_DEVICE_CODE_SECONDS", 600, 1800, "Lifetime of device codes in seconds."
)
OAUTH_DEVICE_INTERVAL_SECONDS = _seconds(
    "OAUTH_DEVICE_INTERVAL_SECONDS", 5, 60, "Seconds that devices must wait between two polls."
)
OAUTH_FAILURES_PER_MINUTE = env.integer(
    "OAUTH_FAILURES_PER_MINUTE",
    default=20,
    minimum=1,
    meaning="Failed token requests per client and address in a minute; further ones get 429.",
)
OAUTH_CLIENT_SECRET_DAYS = env.integer(
    "OAUTH_CLIENT_SECRET_DAYS",
    default=365,
    minimum=1,
    meaning="Lifetime in days of a new client secret without `expires_at`. The maximum is 730 days.",
)
SIGNING_KEY_DAYS = env.integer(
    "SIGNING_KEY_DAYS",
    default=90,
    minimum=1,
    meaning="Age in days at which the key that signs JWTs is replaced.",
)
# A second request with the token that was just replaced, from parallel processes with one keyring.
OAUTH_REFRESH_GRACE_SECONDS = 30

OAUTH2_PROVIDER_APPLICATION_MODEL = "access.OAuthClient"
OAUTH2_PROVIDER_ACCESS_TOKEN_MODEL = "access.OAuthAccessToken"  # noqa: S105  (a model)
OAUTH2_PROVIDER_REFRESH_TOKEN_MODEL = "access.RefreshToken"  # noqa: S105  (a model)
OAUTH2_PROVIDER_GRANT_MODEL = "access.AccessGrant"
OAUTH2_PROVIDER_DEVICE_GRANT_MODEL = "access.DeviceCode"
# ID tokens are signed and not stored; the setting must name an existing table.
OAUTH2_PROVIDER_ID_TOKEN_MODEL = "access.OAuthAccessToken"  # noqa: S105  (a model)
OAUTH2_PROVIDER: dict[str, Any] = {
    "OAUTH2_VALIDATOR_CLASS": "controlplane.access.oauth.validator.Validator",
    "OAUTH2_SERVER_CLASS": "controlplane.access.oauth.server.AuthorizationServer",
    "ACCESS_TOKEN_GENERATOR": "controlplane.access.oauth.server.new_access_token",
    "REFRESH_TOKEN_GENERATOR": "controlplane.access.oauth.server.new_refresh_token",
    "ACCESS_TOKEN_EXPIRE_SECONDS": OAUTH_ACCESS_TOKEN_SECONDS,
    "REFRESH_TOKEN_EXPIRE_SECONDS": OAUTH_REFRESH_TOKEN_SECONDS,
    "AUTHORIZATION_CODE_EXPIRE_SECONDS": OAUTH_CODE_SECONDS,
    # The toolkit's grace period returns stored tokens; ours (OAUTH_REFRESH_GRACE_SECONDS) issues new ones.
    "REFRESH_TOKEN_GRACE_PERIOD_SECONDS": 0,
    "REFRESH_TOKEN_REUSE_PROTECTION": True,
    "ROTATE_REFRESH_TOKEN": True,
    "PKCE_REQUIRED": True,
    "ALLOW_URI_WILDCARDS": False,
    "ALLOW_LOCALHOST_LOOPBACK": True,
    "ALLOWED_REDIRECT_URI_SCHEMES": ["https"],
    "OAUTH_PRE_TOKEN_VALIDATION": [],
    "OIDC_ISS_ENDPOINT": PUBLIC_URL,
    "COMPLIANT_BCP_RFC9700_IMPLICIT_GRANT": True,
    "COMPLIANT_BCP_RFC9700_PASSWORD_GRANT": True,
    "COMPLIANT_BCP_RFC9700_PKCE_METHOD": True,
    "COMPLIANT_BCP_RFC9700_ACCESS_TOKEN_TRANSPORT": True,
    "COMPLIANT_BCP_RFC9700_AUTHZ_RESPONSE_ISS": True,
    "COMPLIANT_BCP_RFC9700_TOKEN_STORAGE": True,
    "COMPLIANT_BCP_RFC9700_REFRESH_TOKEN": True,
    "COMPLIANT_BCP_RFC9700_REDIRECT_URI_SCHEME": True,
    "COMPLIANT_BCP_RFC9700_REDIRECT_URI_MATCHING": True,
    "COMPLIANT_BCP_RFC9700_PKCE_REQUIRED": True,
}
