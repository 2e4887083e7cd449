"""Health: whether this process is alive (`/livez`), and can serve traffic (`/readyz`).

Without Postgres, with missing migrations, or too old for the schema, a process is not ready. Without Valkey
or NATS, or with streams that differ from those that are needed, it is degraded and still ready: nothing
acknowledged depends on them (reliability.md F5, F14). It also is while Postgres accepts no changes (reads go
on), while no standby can confirm changes, and while a former primary still accepts connections.

Under ASGI `health_answers` answers in the event loop; the middleware here is for WSGI servers and tests.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from django.conf import settings
from django.core.cache import cache
from django.db import connection
from django.http import HttpRequest, HttpResponse, QueryDict

from controlplane.database.changes import accepts_changes
from controlplane.database.primary import primary
from controlplane.members.presence import is_this_too_old
from controlplane.messaging.nats_questions import server_answers
from controlplane.messaging.streams import have_no_differences
from controlplane.upgrades.executor import only_contracts_wait
from controlplane.web import leaving

LIVEZ = "/livez"
PATHS = frozenset({LIVEZ, "/readyz", "/startupz"})
_TIMEOUT_SECONDS = 1.0
_TEXT, _JSON = "text/plain", "application/json"


class HealthMiddleware:
    """Answers before Host is checked: Kubernetes uses the pod's address, which is not in ALLOWED_HOSTS."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path not in PATHS:
            return self.get_response(request)
        if request.path == LIVEZ:
            return _response(ALIVE)
        question = parse_question(request.META.get("QUERY_STRING", ""))
        return _response(readiness(question, {check: passes(check) for check in question.checks}))


@dataclass(frozen=True, slots=True)
class Check:
    """needed: without it the process is not ready. probe: raises, or returns False, on failure.

    thread: checks with the same thread run one after the other under ASGI. failure: its word for a failure.
    """

    name: str
    needed: bool
    probe: Callable[[], bool]
    thread: str
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """The parameters of a readiness probe."""

    checks: tuple[Check, ...]
    verbose: bool


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    content_type: str
    body: bytes


ALIVE = Answer(200, _TEXT, b"ok\n")


def parse_question(query: str | bytes) -> Question:
    """Parse the query: `verbose` shows each check; `exclude=nats` skips one."""
    parameters = QueryDict(query)
    excluded = set(parameters.getlist("exclude"))
    return Question(tuple(check for check in CHECKS if check.name not in excluded), "verbose" in parameters)


def readiness(question: Question, results: Mapping[Check, bool]) -> Answer:
    """Return 200 or 503 with its body."""
    ready = all(passed for check, passed in results.items() if check.needed)
    status = 200 if ready else 503
    if not question.verbose:
        return Answer(status, _TEXT, b"ok\n" if ready else _not_ready(results))
    answers = all(passed for check, passed in results.items() if check.name == "postgres")
    statuses = {check.name: _word(check, passed, answers) for check, passed in results.items()}
    return Answer(status, _JSON, json.dumps({"ready": ready, "checks": statuses}).encode())


def _not_ready(results: Mapping[Check, bool]) -> bytes:
    words = [
        check.failure for check, passed in results.items() if check.needed and not passed and check.failure
    ]
    return f"not ready: {', '.join(words)}\n".encode() if words else b"not ready\n"


def _word(check: Check, passed: bool, postgres_answers: bool) -> str:
    if passed:
        return "ok"
    if check.failure and (postgres_answers or check.thread != "postgres"):
        return check.failure
    return "failed" if check.needed else "degraded"


def passes(check: Check) -> bool:
    """Return whether the check's dependency works."""
    try:
        return check.probe()
    except Exception:  # any error of a dependency's client means that it does not work
        return False


def _response(answer: Answer) -> HttpResponse:
    return HttpResponse(answer.body, status=answer.status, content_type=answer.content_type)


def _postgres() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return True


def _migrations() -> bool:
    """Return whether the database has what this code needs. Cached once true: nobody undoes migrations."""
    if not _migrated:
        if not only_contracts_wait(connection):
            return False
        _migrated.append(True)
    return True


def _has_synchronous_standby() -> bool:
    """Return whether a standby can confirm changes, if one must; else they hang, and get `outcome_unknown`.

    Without the rights of pg_read_all_stats, nobody sees which standby is synchronous: then any will do.
    """
    with connection.cursor() as cursor:
        cursor.execute(_HAS_SYNCHRONOUS_STANDBY)
        return bool(cursor.fetchone()[0])


# Patroni's `*` in strict mode names any standby.
_HAS_SYNCHRONOUS_STANDBY = """
SELECT pg_is_in_recovery() OR current_setting('synchronous_standby_names') = '' OR EXISTS (
       SELECT FROM pg_stat_replication WHERE sync_state IS NULL OR sync_state IN ('sync', 'quorum'))
"""


def _sees_no_former_primary() -> bool:
    """Return whether no connection to a former primary was refused within half a minute."""
    return not primary.has_refused()


def _next_month_has_partitions() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(_LOGS_ENDING_SOON)
        return cursor.fetchone() is None


# Rows of a month without a partition go to the default partition, from where retention must move them.
_LOGS_ENDING_SOON = """
SELECT log.relname FROM pg_class AS log
 WHERE log.relname IN ('events_event', 'access_auditrecord') AND log.relkind = 'p'
   AND log.relnamespace = 'public'::regnamespace
   AND NOT EXISTS (
        SELECT FROM pg_inherits JOIN pg_class AS part ON part.oid = inhrelid WHERE inhparent = log.oid
           AND substring(pg_get_expr(part.relpartbound, part.oid) FROM 'TO \\(''([^'']+)''\\)')::timestamptz
               > now() + interval '1 month')
"""


def _version() -> bool:
    """Return what the database has last said, so that its absence is no question of versions."""
    return not is_this_too_old()


def _stays() -> bool:
    """Return whether this server goes on; before it stops, it answers for a while without being ready."""
    return not leaving.is_announced()


def _valkey() -> bool:
    cache.set("readyz", 1, timeout=10)
    return bool(cache.get("readyz") == 1)


def _nats() -> bool:
    return server_answers(settings.NATS_URL, timeout=_TIMEOUT_SECONDS)


_migrated: list[bool] = []
CHECKS = (
    Check("postgres", True, _postgres, "postgres"),
    Check("migrations", True, _migrations, "postgres"),
    Check("writable", False, accepts_changes, "postgres", failure="read_only"),
    Check("standby", False, _has_synchronous_standby, "postgres"),
    Check("timeline", False, _sees_no_former_primary, "memory"),
    Check("valkey", False, _valkey, "valkey"),
    Check("nats", False, _nats, "nats"),
    # What the relays have seen: StreamRecord says what differs.
    Check("streams", False, have_no_differences, "postgres"),
    Check("partitions", False, _next_month_has_partitions, "postgres"),
    Check("version", True, _version, "memory", failure="too_old"),
    Check("process", True, _stays, "memory", failure="stopping"),
)
