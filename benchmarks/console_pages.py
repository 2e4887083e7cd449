"""`python -m benchmarks.console_pages`: every page of the console, and the dashboard right after a storm.

It loads a fleet, projects and overrides, lets twenty environments fall silent, runs the sweep, and opens the
dashboard while thousands of events have no number yet. Then it opens each page several times, one after the
other.
"""

from __future__ import annotations

import argparse
import http.client
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

import django

from benchmarks import console_installation, table
from benchmarks.console_installation import Installation
from benchmarks.machine import description
from benchmarks.stage import Server, stage

_TIMES = 9
_FIRST, _USUAL, _BYTES = 500, 100, 100_000
# They end the session, or download a file.
_NOT_PAGES = frozenset({"logout", "audit-export"})
HEAD = ("Page", "first ms", "best ms", "p50 ms", "kB", "misses")


@dataclass(frozen=True, slots=True)
class Visit:
    """How a page was loaded: the first time, the best and the median of later times, and its size."""

    address: str
    first: float
    best: float
    usual: float
    size: int
    note: str = ""
    limit: int = _USUAL

    @property
    def misses(self) -> str:
        limits = {
            f"first <= {_FIRST} ms": self.first > _FIRST,
            f"<= {self.limit} ms": self.best > self.limit,
            f"<= {_BYTES // 1000} kB": self.size > _BYTES,
        }
        return ", ".join(limit for limit, is_missed in limits.items() if is_missed)

    def cells(self) -> tuple[str, ...]:
        return (
            f"`{self.address}`{self.note}",
            f"{self.first:.0f}",
            f"{self.best:.0f}",
            f"{self.usual:.0f}",
            f"{self.size / 1000:.0f}",
            self.misses,
        )


class Browser:
    """A logged-in person with one connection."""

    def __init__(self, server: Server, cookie: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
        self._headers = {"Cookie": cookie, "Accept": "text/html", "Accept-Encoding": "gzip"}

    def load(self, address: str) -> tuple[float, int] | None:
        """Return milliseconds and transferred bytes; None if this is no page, as a redirection."""
        began = time.perf_counter()
        self._connection.request("GET", address, headers=self._headers)
        answer = self._connection.getresponse()
        body = answer.read()
        milliseconds = (time.perf_counter() - began) * 1000
        if answer.status >= 500:
            raise RuntimeError(f"{address} answers {answer.status}: {body[:300]!r}")
        return (milliseconds, len(body)) if answer.status == 200 else None

    def visit(self, address: str, note: str = "", limit: int = _USUAL) -> Visit | None:
        """Load a page several times; None if it is none."""
        loads = [self.load(address) for _ in range(1 + _TIMES)]
        times = [milliseconds for milliseconds, _ in filter(None, loads)]
        sizes = [size for _, size in filter(None, loads)]
        if len(times) < len(loads):
            return None
        return Visit(address, times[0], min(times[1:]), median(times[1:]), sizes[0], note, limit)


def main() -> int:
    options = _options()
    installation = Installation(options.agents, options.projects, options.overrides)
    with stage() as running:
        os.environ.update(running.environment)
        django.setup()
        url = running.environment["DATABASE_URL"]
        console_installation.load(url, installation)
        server = running.serve("console", "controlplane.asgi:application", workers=1)
        browser = Browser(server, _log_in())
        browser.load("/tokens")  # the process has loaded its templates, as it has on any day
        calm = browser.visit("/", ", before the storm")
        silent = _storm(url)
        stormy = [browser.visit(address, ", after the storm", _FIRST) for address in ("/", "/?since=24h")]
        others = [browser.visit(address) for address in _addresses() if address != "/"]
        visits = list(filter(None, [calm, *stormy, *others]))
    text = f"{_preface(installation, silent)}\n\n{_markdown(visits)}"
    print(text)
    if options.write:
        table.write(text, "console")
    return 1 if any(visit.misses for visit in visits) else 0


def _storm(url: str) -> int:
    """Silence most environments and sweep once; return the number of agents that became unknown."""
    from registry.sweep.sweep import sweep_leases

    console_installation.silence(url)
    return sweep_leases()


def _log_in() -> str:
    """Create an administrator with a session; return the cookie."""
    from django.conf import settings
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY

    from controlplane.access import principals, role_bindings
    from controlplane.access.login.session_store import SessionStore
    from controlplane.access.models import PrincipalKind
    from controlplane.identity.actors import system
    from controlplane.identity.roles import Role
    from controlplane.scopes import Scope

    actor = system("benchmark")
    person = principals.create_principal("jane", kind=PrincipalKind.PERSON, actor=actor)
    role_bindings.bind_role(person, Role.ADMIN, Scope(), actor=actor)
    session = SessionStore()
    session[SESSION_KEY] = str(person.pk)
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    session[HASH_SESSION_KEY] = person.get_session_auth_hash()
    session.save()
    return f"{settings.SESSION_COOKIE_NAME}={session.session_key}"


def _addresses() -> Iterator[str]:
    """Every page without parameters, and those of one object."""
    from django.urls import URLPattern, reverse
    from django.urls.resolvers import URLResolver

    from console.urls import urlpatterns
    from registry.agents.models import Agent

    def names(patterns: object) -> Iterator[str]:
        for pattern in patterns:  # type: ignore[attr-defined]
            if isinstance(pattern, URLResolver):
                yield from names(pattern.url_patterns)
            elif isinstance(pattern, URLPattern) and pattern.name and "<" not in str(pattern.pattern):
                yield pattern.name

    for name in names(urlpatterns):
        if name not in _NOT_PAGES:
            yield reverse(name)
    agent = Agent.objects.filter(state="unknown").order_by("name").first()
    assert agent is not None
    yield f"/agents/{agent.id}"
    yield "/agents?state=silent&since=1h&sort=-state_since"
    yield "/overrides?project=p001&domain=development"
    yield "/overrides/task_resource/edit?project=p001&domain=development"
    yield "/overrides/task_resource/history?project=p001&domain=development"
    yield "/audit?since=1h"
    yield "/events?type=agent.unknown&since=1h"
    yield "/task-types/task_1"
    yield "/search?q=agent-77"


def _markdown(visits: list[Visit]) -> str:
    lines = [HEAD, tuple("---" for _ in HEAD), *(visit.cells() for visit in visits)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _preface(installation: Installation, silent: int) -> str:
    return (
        f"{description()}. {installation.agents:,} agents in {installation.environments} environments,"
        f" {installation.projects:,} projects, {installation.overrides:,} overrides, one web process that"
        f" shares its processors with Postgres. {silent:,} agents fell silent just before the first view of"
        " `/`; their events had no number yet. Sizes are of the page alone: browsers keep styles and scripts."
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--agents", type=int, default=20_000)
    parser.add_argument("--projects", type=int, default=300)
    parser.add_argument("--overrides", type=int, default=2_000)
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
