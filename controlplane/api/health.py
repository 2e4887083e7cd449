"""Health: is this process alive (`/livez`), and may it get traffic (`/readyz`)?

Without Postgres, or with migrations missing, we are not ready. Without Valkey or NATS we are
degraded and still ready: nothing acknowledged depends on them (reliability.md F5, F14).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.conf import settings
from django.core.cache import cache
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse

from controlplane.messaging.nats import server_answers

_TIMEOUT_SECONDS = 1.0


class HealthMiddleware:
    """Answers before Host is looked at: Kubernetes asks by the pod's address, which no ALLOWED_HOSTS has."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        page = PAGES.get(request.path)
        return page(request) if page else self.get_response(request)


@dataclass(frozen=True, slots=True)
class Check:
    """`needed`: without it we take no traffic. `probe` raises, or returns False, when it fails."""

    name: str
    needed: bool
    probe: Callable[[], bool]


def livez(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ok\n", content_type="text/plain")


def readyz(request: HttpRequest) -> HttpResponse:
    """200 or 503. `?verbose` tells each check; `?exclude=nats` leaves one out."""
    excluded = set(request.GET.getlist("exclude"))
    results = {check: passes(check) for check in CHECKS if check.name not in excluded}
    ready = all(passed for check, passed in results.items() if check.needed)
    status = 200 if ready else 503
    if "verbose" not in request.GET:
        return HttpResponse("ok\n" if ready else "not ready\n", status=status, content_type="text/plain")
    words = {
        check.name: "ok" if passed else "failed" if check.needed else "degraded"
        for check, passed in results.items()
    }
    return JsonResponse({"ready": ready, "checks": words}, status=status)


def passes(check: Check) -> bool:
    """True if what the check asks answers as it should."""
    try:
        return check.probe()
    except Exception:  # whatever a dependency's client raises means the same: it does not answer
        return False


def _postgres() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return True


def _migrations() -> bool:
    """No migration is missing. Remembered once true: rows only disappear by hand."""
    if not _seen_migrated:
        executor = MigrationExecutor(connection)
        if executor.migration_plan(executor.loader.graph.leaf_nodes()):
            return False
        _seen_migrated.append(True)
    return True


def _valkey() -> bool:
    cache.set("readyz", 1, timeout=10)
    return bool(cache.get("readyz") == 1)


def _nats() -> bool:
    return server_answers(settings.NATS_URL, timeout=_TIMEOUT_SECONDS)


_seen_migrated: list[bool] = []
CHECKS = (
    Check("postgres", True, _postgres),
    Check("migrations", True, _migrations),
    Check("valkey", False, _valkey),
    Check("nats", False, _nats),
)
PAGES = {"/livez": livez, "/readyz": readyz, "/startupz": readyz}
