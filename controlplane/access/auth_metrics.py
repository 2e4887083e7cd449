"""Prometheus metrics of authentication, and of what protects the audit log."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum

from django.db import DatabaseError, connection
from prometheus_client import Counter, Histogram, Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from controlplane.errors import ControlplaneError
from controlplane.observability.label_values import FirstValues

AUTHENTICATIONS = Counter(
    "cp_auth_total", "Authentications of requests, and logins, by method.", ["method", "result"]
)
TOKEN_SECONDS = Histogram(
    "cp_token_checks_seconds",
    "How long the check of a token took.",
    buckets=(0.0005, 0.002, 0.01, 0.05, 0.25, 1),
)
OIDC_REQUESTS = Counter(
    "cp_oidc_requests_total", "Requests to identity providers for tokens and claims.", ["provider", "result"]
)
AUDIT_FAILURES = Counter(
    "cp_audit_failures_total", "Audit records that Postgres did not take, whose changes were undone."
)
# Providers that have their own series.
MOST_PROVIDERS = 20
_PROVIDERS = FirstValues(MOST_PROVIDERS)


class Method(StrEnum):
    TOKEN = "token"  # noqa: S105  (a method)
    EXTERNAL_TOKEN = "external_token"  # noqa: S105
    SESSION = "session"
    ANONYMOUS = "anonymous"
    PASSWORD = "password"  # noqa: S105
    IDENTITY_PROVIDER = "identity_provider"


# Found once: it takes as long as counting.
_TOKEN_ACCEPTED = AUTHENTICATIONS.labels(Method.TOKEN.value, "accepted")


def count_authentication(method: Method, *, accepted: bool) -> None:
    AUTHENTICATIONS.labels(method.value, "accepted" if accepted else "refused").inc()


@contextmanager
def count_token_check(method: Method = Method.TOKEN) -> Iterator[None]:
    """Count a check of a token: refused if it raises a ControlplaneError."""
    began = time.perf_counter()
    try:
        yield
    except ControlplaneError:
        count_authentication(method, accepted=False)
        raise
    count_authentication(method, accepted=True)
    TOKEN_SECONDS.observe(time.perf_counter() - began)


def note_known_token(seconds: float) -> None:
    """Count a token that was known from an earlier request, which happens with almost every request."""
    _TOKEN_ACCEPTED.inc()
    TOKEN_SECONDS.observe(seconds)


@contextmanager
def count_oidc_request(provider: str) -> Iterator[None]:
    """Count a request: refused if the provider answered so, failed if it did not answer as it should."""
    result = "failed"
    try:
        yield
        result = "accepted"
    except ControlplaneError as error:
        result = "refused" if error.code == "login_refused" else "failed"
        raise
    finally:
        OIDC_REQUESTS.labels(_PROVIDERS.label(provider), result).inc()


@contextmanager
def count_audit_failure() -> Iterator[None]:
    try:
        yield
    except DatabaseError:
        AUDIT_FAILURES.inc()
        raise


class SigningKeyCollector(Collector):
    """The age of the key that signs JWTs; none before the first one is needed."""

    def collect(self) -> Iterator[Metric]:
        with connection.cursor() as cursor:
            cursor.execute(_AGE)
            row = cursor.fetchone()
        if row:
            yield GaugeMetricFamily(
                "cp_signing_key_age_seconds", "For how long the active key has signed JWTs.", value=row[0]
            )


_AGE = """
SELECT extract(epoch FROM statement_timestamp() - coalesce(activated_at, created_at))::float
  FROM access_signingkey WHERE state = 'active'
"""
