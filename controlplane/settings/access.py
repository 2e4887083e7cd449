"""Logins, request limits and lifetimes of tokens."""

from ipaddress import IPv4Network, IPv6Network, ip_network

from controlplane.settings import environment as env

__all__ = [
    "LOGIN_FAILURES_IN_ALL",
    "LOGIN_FAILURES_PER_ADDRESS",
    "LOGIN_FAILURES_PER_NAME",
    "LOGIN_REQUESTS_PER_ADDRESS",
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
    meaning="Addresses and networks of your reverse proxies, comma-separated, such as `10.0.0.0/8`. Their"
    " `X-Forwarded-For` is believed; that of anybody else is ignored.",
)
LOGIN_FAILURES_PER_ADDRESS = env.integer(
    "LOGIN_FAILURES_PER_ADDRESS",
    default=100,
    minimum=1,
    meaning="Failed logins in five minutes after which an address is refused; for IPv6 its /64 network.",
)
LOGIN_FAILURES_PER_NAME = env.integer(
    "LOGIN_FAILURES_PER_NAME",
    default=50,
    minimum=1,
    meaning="The same for one user name, from all addresses. From one address it is 10.",
)
LOGIN_FAILURES_IN_ALL = env.integer(
    "LOGIN_FAILURES_IN_ALL",
    default=1000,
    minimum=1,
    meaning="The same for all names and addresses together. Browsers that logged in before are not affected.",
)
LOGIN_REQUESTS_PER_ADDRESS = env.integer(
    "LOGIN_REQUESTS_PER_ADDRESS",
    default=120,
    meaning="Requests to the login page of one address, in a minute and web worker; more are answered 429 at"
    " once. 0: no limit.",
)
PASSWORD_THREADS = 2
PASSWORD_QUEUE = env.integer(
    "PASSWORD_QUEUE",
    default=32,
    meaning="Logins and password changes of each web worker that wait for a thread; more are answered 503.",
)
PASSWORD_HASHERS = ["controlplane.access.login.password_hash.BackgroundPBKDF2"]
THROTTLE_CALLER_PER_MINUTE = env.integer(
    "THROTTLE_CALLER_PER_MINUTE",
    default=6000,
    meaning="API requests of one token, or of one person in the console, in a minute; more are answered 429."
    " Calls of Flyte's clients count too."
    " Heartbeats, registrations, joins and cached effective reads do not count. 0: no limit.",
)
THROTTLE_ANONYMOUS_PER_MINUTE = env.integer(
    "THROTTLE_ANONYMOUS_PER_MINUTE",
    default=600,
    meaning="The same for one address without a valid token.",
)
TOKEN_DEFAULT_DAYS = env.integer(
    "TOKEN_DEFAULT_DAYS",
    default=90,
    minimum=1,
    meaning="Lifetime of a new token whose `expires_at` is not given.",
)
TOKEN_MAX_DAYS = env.integer(
    "TOKEN_MAX_DAYS",
    default=365,
    minimum=1,
    meaning="Longest lifetime of a new token. Only administrators can create tokens that never expire.",
)
