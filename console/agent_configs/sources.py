"""Followed sources: their status, and the confirmation of pending removals."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from console.confirmations import Change, Field, confirm_change
from console.cpctl_commands import curl
from console.pages import actor_of, page
from controlplane.errors import UnknownAgentConfig
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry.agent_configs.sources.follow import OFF, Source, confirm_removal
from registry.agent_configs.sources.state import SOURCES, SourceStatus, source_status

_MAX_DOCUMENTS = 20


def active_sources(caller: Caller) -> list[SourceStatus]:
    """Return the status of each configured source."""
    states = (source_status(state, caller) for state in SOURCES.values())
    return [state for state in states if state.state != OFF]


@page
def removal(request: HttpRequest, caller: Caller, name: str) -> HttpResponse:
    """Confirm the removal of documents after a source lost more than half of them."""
    caller.require(Action.AGENT_CONFIG_RULE)
    source = _get_source(name)
    pending = source_status(source, caller).pending or {"digest": "", "documents": []}
    change = Change(
        f"Remove the missing documents of the source {name}?",
        _facts(pending["documents"]),
        "Remove documents",
        reverse("agent-configs"),
        f"The next synchronisation of the source {name} removes the documents.",
        # Confirm exactly what was shown: later losses are rejected.
        (Field("digest", "", "hidden", value=pending["digest"]), Field("reason", "Reason")),
        {"curl": curl(request, "POST", "agent-config-sources:confirm", _body(name, pending["digest"]))},
        is_destructive=True,
    )
    return confirm_change(
        request,
        change,
        lambda form: confirm_removal(
            source, form.get("digest", ""), actor=actor_of(caller, form.get("reason", ""))
        ),
    )


def _get_source(name: str) -> Source:
    if name not in SOURCES:
        raise UnknownAgentConfig(f"There is no followed source {name[:80]!r}.")
    return SOURCES[name]


def _facts(missing: list[str]) -> tuple[str, ...]:
    if not missing:
        return ("No removal needs confirmation.",)
    hidden_count = len(missing) - _MAX_DOCUMENTS
    rest = (f"And {hidden_count} more.",) if hidden_count > 0 else ()
    return (*(f"Removes {document}." for document in missing[:_MAX_DOCUMENTS]), *rest)


def _body(name: str, digest: str) -> dict[str, str]:
    return {"source": name, "digest": digest}
