"""Followed sources: their status, and the confirmation of pending removals."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from console.confirmations import Change, Field, confirm_change
from console.cpctl_commands import cpctl, curl
from console.pages import actor_of, page
from controlplane.errors import InvalidRequest, UnknownAgentConfig
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry.agent_configs.publishing.publish import FOLDER, KUBERNETES
from registry.agent_configs.sources.follow import OFF, Source, confirm_removal
from registry.agent_configs.sources.state import SourceStatus, get_source, list_sources, source_status

_MAX_DOCUMENTS = 20


def active_sources(caller: Caller) -> list[SourceStatus]:
    """Return the status of each configured source. A registered cluster is one before its first report."""
    own = {FOLDER, KUBERNETES}
    return [each for each in list_sources(caller) if each.state != OFF or each.source not in own]


@page
def removal(request: HttpRequest, caller: Caller, name: str) -> HttpResponse:
    """Confirm the removal of documents after a source lost more than half of them."""
    caller.require(Action.AGENT_CONFIG_RULE)
    source = _get_source(name, caller)
    pending = source_status(source, caller).pending or {"digest": "", "documents": []}
    change = Change(
        f"Remove the missing documents of the source {name}?",
        _facts(pending["documents"]),
        "Remove documents",
        reverse("agent-configs"),
        f"The next synchronisation of the source {name} removes the documents.",
        # Confirm exactly what was shown: later losses are rejected.
        (Field("digest", "", "hidden", value=pending["digest"]), Field("reason", "Reason")),
        {
            "curl": curl(request, "POST", "agent-config-sources:confirm", _body(name, pending["digest"])),
            "cpctl": cpctl("agent-configs", "sources", "confirm", name),
        },
        is_destructive=True,
    )
    return confirm_change(
        request,
        change,
        lambda form: confirm_removal(
            source, form.get("digest", ""), actor=actor_of(caller, form.get("reason", ""))
        ),
    )


def _get_source(name: str, caller: Caller) -> Source:
    try:
        return get_source(name, caller)
    except InvalidRequest as error:
        raise UnknownAgentConfig(f"There is no followed source {name[:80]!r}.") from error


def _facts(missing: list[str]) -> tuple[str, ...]:
    if not missing:
        return ("No removal needs confirmation.",)
    hidden_count = len(missing) - _MAX_DOCUMENTS
    rest = (f"And {hidden_count} more.",) if hidden_count > 0 else ()
    return (*(f"Removes {document}." for document in missing[:_MAX_DOCUMENTS]), *rest)


def _body(name: str, digest: str) -> dict[str, str]:
    return {"source": name, "digest": digest}
