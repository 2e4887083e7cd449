"""Requests whose outcome a fast path does not know: Django answers `outcome_unknown`, and does no work."""

from __future__ import annotations

from controlplane.web.django_bridge import Application, Receive, Scope, Send

# In the WSGI environ of such a request.
UNKNOWN_OUTCOME = "controlplane.unknown_outcome"


def with_unknown_outcome(application: Application) -> Application:
    """Return the application for a request of which the first attempt may have been committed."""

    async def run(scope: Scope, receive: Receive, send: Send) -> None:
        environ = {**scope.get("environ", {}), UNKNOWN_OUTCOME: True}
        await application({**scope, "environ": environ}, receive, send)

    return run
