"""Issuers of access tokens other than the server itself."""

from controlplane.access.issuers.external_issuers import parse_issuers
from controlplane.settings import environment as env

__all__ = ["EXTERNAL_ISSUERS", "EXTERNAL_MAX_AGE"]

EXTERNAL_ISSUERS = env.parsed(
    "EXTERNAL_ISSUERS",
    parse_issuers,
    default="",
    meaning="Issuers whose access tokens are accepted, with AUTH_SERVER=external, as YAML. Set"
    " EXTERNAL_ISSUERS_FILE to the path of a file with a list of `issuer`, `allowed_audience` (a string or a"
    " list; by default PUBLIC_URL), `jwks_uri`, `console_client_id`, `default_scopes`, and `clients`, which"
    " maps client ids to names of services.",
)
EXTERNAL_MAX_AGE = env.integer(
    "EXTERNAL_MAX_AGE",
    default=900,
    minimum=60,
    meaning="Seconds after its issue (`iat`) during which a token of an external issuer is accepted, because"
    " such tokens cannot be revoked. Raise it if your issuer's tokens live longer.",
)
