"""Sources that are read again and again: how they stand, and removals that wait for somebody's word."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from console.confirmations import Change, Field, confirmed
from console.cpctl_commands import curl
from console.pages import actor_of, page
from controlplane.errors import UnknownAgentConfig
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry.agent_configs.sources.follow import OFF, Source, confirm_removal
from registry.agent_configs.sources.state import SOURCES, SourceStatus, source_status

_TOLD = 20


def followed(caller: Caller) -> list[SourceStatus]:
    """Those that are set up."""
    found = (source_status(one, caller) for one in SOURCES.values())
    return [one for one in found if one.state != OFF]


@page
def removal(request: HttpRequest, caller: Caller, name: str) -> HttpResponse:
    """The source lost more than half of its documents: somebody has to say that this is meant."""
    caller.require(Action.AGENT_CONFIG_RULE)
    source = _followed(name)
    pending = source_status(source, caller).pending or {"digest": "", "documents": []}
    change = Change(
        f"Let the documents go that the source {name} has lost?",
        _facts(pending["documents"]),
        "Let them go",
        reverse("agent-configs"),
        f"They go with the next look at the source {name}.",
        # What was shown is what goes: another loss since then is refused.
        (Field("digest", "", "hidden", value=pending["digest"]), Field("reason", "Why")),
        {"curl": curl(request, "POST", "agent-config-sources:confirm", _body(name, pending["digest"]))},
        is_grave=True,
    )
    return confirmed(
        request,
        change,
        lambda said: confirm_removal(
            source, said.get("digest", ""), actor=actor_of(caller, said.get("reason", ""))
        ),
    )


def _followed(name: str) -> Source:
    if name not in SOURCES:
        raise UnknownAgentConfig(f"There is no source {name[:80]!r} that is followed.")
    return SOURCES[name]


def _facts(lost: list[str]) -> tuple[str, ...]:
    if not lost:
        return ("No removal waits for a confirmation any more.",)
    more = len(lost) - _TOLD
    rest = (f"So do {more} more.",) if more > 0 else ()
    return (*(f"{one} is taken away." for one in lost[:_TOLD]), *rest)


def _body(name: str, digest: str) -> dict[str, str]:
    return {"source": name, "digest": digest}
