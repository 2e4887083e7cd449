"""Logins at identity providers."""

from controlplane.access.login.local_login import parse_local_login
from controlplane.access.login.oidc.provider_settings import parse_providers, single_provider
from controlplane.access.login.redirects import origin_of, parse_origins
from controlplane.settings import environment as env

__all__ = [
    "ACCESS_CONTACT",
    "IDENTITY_PROVIDERS",
    "JIT",
    "LOCAL_LOGIN",
    "LOGIN_REDIRECT_ORIGINS",
    "PUBLIC_URL",
]

PUBLIC_URL = env.parsed(
    "PUBLIC_URL",
    lambda raw: origin_of(raw) if raw else "",
    default="",
    meaning="Address at which clients reach the server, such as `https://controlplane.example.com`. It is"
    " the issuer of OAuth tokens, identity providers send people back to it, and it is never derived from a"
    " request. Required in production.",
)
LOGIN_REDIRECT_ORIGINS = env.parsed(
    "LOGIN_REDIRECT_ORIGINS",
    parse_origins,
    default="",
    meaning="Origins to which a login or logout may send the browser, comma-separated, such as"
    " `https://flyte.example.com`. Paths of this server are always allowed.",
)
LOCAL_LOGIN = env.parsed(
    "LOCAL_LOGIN",
    parse_local_login,
    default="admins",
    meaning="Who may log in with a password once an identity provider is configured: `admins`, `all` or"
    " `off`. Without a provider, everyone with a password may.",
)
JIT = env.boolean(
    "JIT",
    default=True,
    meaning="Create a person at the first login with an unknown identity. If off, an administrator must link"
    " the identity first.",
)
ACCESS_CONTACT = env.text(
    "ACCESS_CONTACT",
    default="",
    meaning="Whom people without a role should ask, such as an e-mail address. Shown after their login.",
)
_FROM_FILE = env.parsed(
    "IDENTITY_PROVIDERS",
    parse_providers,
    default="",
    meaning="Identity providers in YAML, as a list under `providers`. Set IDENTITY_PROVIDERS_FILE to the path"
    " of a file with it. They cannot be changed in the API.",
)
_SINGLE = single_provider(
    issuer=env.text("OIDC_ISSUER", default="", meaning="Issuer of a single identity provider, by its URL."),
    client_id=env.text("OIDC_CLIENT_ID", default="", meaning="Client id at the provider of OIDC_ISSUER."),
    client_secret=env.text(
        "OIDC_CLIENT_SECRET", default="", meaning="Client secret at the provider of OIDC_ISSUER."
    ),
    title=env.text(
        "OIDC_TITLE", default="", meaning="Name of the provider of OIDC_ISSUER on the login page."
    ),
    kind=env.text(
        "OIDC_KIND",
        default="generic",
        meaning="Product of the provider of OIDC_ISSUER: `generic`, `keycloak`, `okta`, `entra` or `google`.",
    ),
    scopes=env.names(
        "OIDC_SCOPES",
        default="openid,profile,email",
        meaning="Scopes requested from the provider of OIDC_ISSUER, comma-separated.",
    ),
    group_claim=env.text(
        "OIDC_GROUP_CLAIM", default="groups", meaning="Claim with the groups at the provider of OIDC_ISSUER."
    ),
    allowed_domains=env.names(
        "OIDC_ALLOWED_DOMAINS",
        default="",
        meaning="E-mail domains whose people may log in at OIDC_ISSUER, comma-separated. Empty: all.",
    ),
)
IDENTITY_PROVIDERS = _FROM_FILE + _SINGLE
