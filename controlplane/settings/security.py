"""Keys, hosts, cookies and headers. Only dev.py and test.py relax them; nothing tightens them elsewhere."""

from typing import Any

from csp.constants import NONE, SELF

from controlplane.settings import environment as env

__all__ = [
    "ALLOWED_HOSTS",
    "ANONYMOUS_READ",
    "AUTHENTICATION_BACKENDS",
    "AUTH_PASSWORD_VALIDATORS",
    "AUTH_USER_MODEL",
    "CONTENT_SECURITY_POLICY",
    "CSRF_COOKIE_NAME",
    "CSRF_COOKIE_SECURE",
    "CSRF_FAILURE_VIEW",
    "CSRF_TRUSTED_ORIGINS",
    "DEBUG",
    "LOGIN_COOKIE_NAME",
    "SECRET_KEY",
    "SECRET_KEY_FALLBACKS",
    "SECURE_CONTENT_TYPE_NOSNIFF",
    "SECURE_HSTS_INCLUDE_SUBDOMAINS",
    "SECURE_HSTS_PRELOAD",
    "SECURE_HSTS_SECONDS",
    "SECURE_PROXY_SSL_HEADER",
    "SECURE_REDIRECT_EXEMPT",
    "SECURE_REFERRER_POLICY",
    "SECURE_SSL_REDIRECT",
    "SESSION_COOKIE_AGE",
    "SESSION_COOKIE_HTTPONLY",
    "SESSION_COOKIE_NAME",
    "SESSION_COOKIE_SAMESITE",
    "SESSION_COOKIE_SECURE",
    "SESSION_ENGINE",
    "SESSION_IDLE_MINUTES",
    "X_FRAME_OPTIONS",
]


def session_hours(raw: str) -> int:
    hours = int(raw)
    if not 1 <= hours <= 24:
        raise ValueError("must be from 1 to 24")
    return hours


DEBUG = False
SECRET_KEY = env.text(
    "SECRET_KEY",
    default=None,
    meaning="At least 50 random characters, to sign sessions and page cursors.",
)
SECRET_KEY_FALLBACKS = env.names(
    "SECRET_KEY_FALLBACKS",
    default="",
    meaning="Former secret keys, comma-separated, still accepted during a rotation.",
)
ALLOWED_HOSTS = env.names(
    "ALLOWED_HOSTS", default=None, meaning="Host names at which the server may be called, comma-separated."
)
CSRF_TRUSTED_ORIGINS = env.names(
    "CSRF_TRUSTED_ORIGINS",
    default="",
    meaning="Origins whose forms are accepted, as https://host, comma-separated.",
)
ANONYMOUS_READ = env.boolean(
    "ANONYMOUS_READ",
    default=False,
    meaning="Allow anyone to read everything without a token. Only for trials.",
)

AUTH_USER_MODEL = "access.Principal"
AUTHENTICATION_BACKENDS = ["django.contrib.auth.backends.ModelBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 12},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]

# The __Host- prefix binds the cookie to this host and to TLS.
SESSION_COOKIE_NAME = "__Host-cp-session"
SESSION_COOKIE_SECURE = True
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_AGE = 3600 * env.parsed(
    "SESSION_HOURS",
    session_hours,
    default="12",
    meaning="Longest life in hours of a console session, at most 24, whether or not it is used.",
)
SESSION_IDLE_MINUTES = env.integer(
    "SESSION_IDLE_MINUTES",
    default=60,
    minimum=2,
    meaning="Minutes without use after which a console session ends.",
)
# The browser's part of a login at an identity provider: ten minutes, for one use.
LOGIN_COOKIE_NAME = "__Host-cp-login"
SESSION_ENGINE = "controlplane.access.login.session_store"
CSRF_COOKIE_NAME = "__Host-cp-csrf"
CSRF_COOKIE_SECURE = True
CSRF_FAILURE_VIEW = "controlplane.api.problems.csrf_failure"

# Only pages are redirected to TLS. A client that sent its token unencrypted must notice it, so the API
# rejects plain HTTP (controlplane.api.transport) instead of redirecting.
SECURE_SSL_REDIRECT = env.boolean(
    "SECURE_SSL_REDIRECT",
    default=True,
    meaning="Redirect browsers from plain HTTP to HTTPS.",
)
SECURE_REDIRECT_EXEMPT = [r"^api/", r"^scim/", r"^metrics$", r"^oauth2/(?!authorize|consent)"]
SECURE_PROXY_SSL_HEADER: tuple[str, str] | None = (
    ("HTTP_X_FORWARDED_PROTO", "https")
    if env.boolean(
        "BEHIND_TLS_PROXY",
        default=False,
        meaning="Trust X-Forwarded-Proto. Set it only behind a proxy that sets this header itself.",
    )
    else None
)
SECURE_HSTS_SECONDS = 365 * 24 * 3600
SECURE_HSTS_INCLUDE_SUBDOMAINS = True
SECURE_HSTS_PRELOAD = True
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"

CONTENT_SECURITY_POLICY: dict[str, Any] = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "object-src": [NONE],
        "base-uri": [NONE],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    }
}
