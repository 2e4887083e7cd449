"""Logins, request limits and token lifetimes."""

from ipaddress import IPv4Network, IPv6Network, ip_network

from controlplane.settings import environment as env

__all__ = [
    "LOGIN_FAILURES_IN_ALL",
    "LOGIN_FAILURES_PER_ADDRESS",
    "LOGIN_FAILURES_PER_NAME",
    "LOGIN_REQUESTS_PER_ADDRESS",
    "ORGANISATIONS",
    "PASSWORD_HASHERS",
    "PASSWORD_QUEUE",
    "PASSWORD_THREADS",
    "THROTTLE_ANONYMOUS_PER_MINUTE",
    "THROTTLE_CALLER_PER_MINUTE",
    "TOKEN_DEFAULT_DAYS",
    "TOKEN_MAX_DAYS",
    "TRUSTED_PROXIES",
]


def _networks(raw: str) -> list[IPv4Network | IPv6Network]:
    return [ip_network(part.strip()) for part in raw.split(",") if part.strip()]


TRUSTED_PROXIES = env.parsed(
    "TRUSTED_PROXIES",
    _networks,
    default="",
    meaning="Addresses and networks of your reverse proxies, comma-separated, such as `10.0.0.0/8`."
    " `X-Forwarded-For` is honored only from these addresses.",
)
LOGIN_FAILURES_PER_ADDRESS = env.integer(
    "LOGIN_FAILURES_PER_ADDRESS",
    default=100,
    minimum=1,
    meaning="Failed logins from one address within five minutes after which further logins are refused."
    " IPv6 addresses count by their /64 network.",
)
LOGIN_FAILURES_PER_NAME = env.integer(
    "LOGIN_FAILURES_PER_NAME",
    default=50,
    minimum=1,
    meaning="Failed logins for one user name within five minutes, from all addresses, after which further"
    " logins are refused. From a single address, the limit is 10.",
)
LOGIN_FAILURES_IN_ALL = env.integer(
    "LOGIN_FAILURES_IN_ALL",
    default=1000,
    minimum=1,
    meaning="Failed logins within five minutes, for all user names and addresses together, after which"
    " further logins are refused. Browsers that have logged in before are not affected.",
)
LOGIN_REQUESTS_PER_ADDRESS = env.integer(
    "LOGIN_REQUESTS_PER_ADDRESS",
    default=120,
    meaning="Requests to the login page per address, minute and web worker; further requests get 429"
    " immediately. 0 disables the limit.",
)
PASSWORD_THREADS = 2
PASSWORD_QUEUE = env.integer(
    "PASSWORD_QUEUE",
    default=32,
    meaning="Logins and password changes that may wait for a thread in each web worker; further ones get"
    " 503.",
)
PASSWORD_HASHERS = ["controlplane.access.login.password_hash.BackgroundPBKDF2"]
THROTTLE_CALLER_PER_MINUTE = env.integer(
    "THROTTLE_CALLER_PER_MINUTE",
    default=6000,
    meaning="API requests per minute of one token, or of one person in the console; further requests get"
    " 429. Calls from Flyte clients count too. Heartbeats, registrations, joins, polls of data planes"
    " that get 304, and cached reads of effective values and of Flyte's clients do not count. 0"
    " disables the limit.",
)
THROTTLE_ANONYMOUS_PER_MINUTE = env.integer(
    "THROTTLE_ANONYMOUS_PER_MINUTE",
    default=600,
    meaning="API requests per minute from one address without a valid token; further requests get 429.",
)
ORGANISATIONS = env.boolean(
    "ORGANISATIONS",
    default=False,
    meaning="Keep several organisations apart: principals of one see only its projects and teams. Run"
    " `manage.py migrate` after a change: it turns row-level security on or off.",
)
TOKEN_DEFAULT_DAYS = env.integer(
    "TOKEN_DEFAULT_DAYS",
    default=90,
    minimum=1,
    meaning="Lifetime in days of a new token without `expires_at`.",
)
TOKEN_MAX_DAYS = env.integer(
    "TOKEN_MAX_DAYS",
    default=365,
    minimum=1,
    meaning="Maximum lifetime in days of a new token. Only administrators can create tokens that never"
    " expire.",
)
