"""Pages of dead letters: list, payload, replay, discard."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from console.confirmations import Change, Field, confirm_change
from console.cpctl_commands import cpctl, curl
from console.filter_choices import select_options
from console.pages import actor_of, load_page, page
from console.stale_lists import may_be_stale
from controlplane.access.team_models import Team
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.messaging.dead_letters import LetterState
from controlplane.messaging.relay import OUTBOX
from controlplane.messaging.streams import REQUESTS
from registry.api.dispatch.dead_letter_schemas import show_detail, slugs_of
from registry.dispatch.inbound import dead_letters as letters
from registry.dispatch.inbound.dead_letters import get_letter, visible_letters

_REASON = Field("reason", "Reason", hint="Kept in the audit log.")


@page
@may_be_stale
def dead_letters(request: HttpRequest, caller: Caller) -> HttpResponse:
    caller.require_for_some_owner(Action.RESOURCE_READ)
    state = request.GET.get("state", LetterState.OPEN.value)
    rows = visible_letters(caller).defer("payload").annotate(now=Now())
    if state:
        rows = rows.filter(state=state if state.isprintable() else "")
    results = load_page(request, caller, rows, order=("-id",))
    slugs = slugs_of(results.items)
    context = {
        "state": state,
        "states": select_options([state.value for state in LetterState], state),
        "letters": [(letter, slugs.get(letter.team_id, "platform")) for letter in results.items],
        "results": results,
        "copies": {
            "curl": curl(request, "GET", f"dead-letters{'?state=' if state else ''}{state}"),
            "cpctl": cpctl("dead-letters", "list"),
        },
    }
    return render(request, "console/dispatch/dead_letters.html", context)


@page
def dead_letter(request: HttpRequest, caller: Caller, letter_id: UUID) -> HttpResponse:
    letter: Any = get_letter(caller, letter_id)
    may_operate = caller.verdict(Action.DISPATCH_OPERATE, owner=letter.team_id).allowed
    context = {
        "letter": show_detail(letter),
        "team": Team.objects.filter(id=letter.team_id).values_list("slug", flat=True).first(),
        "may_settle": may_operate and letter.state == LetterState.OPEN,
        "copies": {
            "curl": curl(request, "GET", f"dead-letters/{letter.id}"),
            "cpctl": cpctl("dead-letters", "get", str(letter.id)),
        },
    }
    return render(request, "console/dispatch/dead_letter.html", context)


@page
def replay(request: HttpRequest, caller: Caller, letter_id: UUID) -> HttpResponse:
    letter = _letter(caller, letter_id)
    is_request = letter.stream in (REQUESTS, OUTBOX)
    change = Change(
        "Replay this dead letter?",
        (
            "The request is sent to its agent again."
            if is_request
            else "The message is handled now, as if it had arrived.",
            f"Reason why it is here: {letter.reason}",
        ),
        "Replay message",
        _url(letter),
        "Replayed the message.",
        (_REASON,),
        _copies(request, letter, "replay"),
    )
    return confirm_change(
        request,
        change,
        lambda form: letters.replay(letter.id, caller=caller, actor=actor_of(caller, form.get("reason", ""))),
    )


@page
def discard(request: HttpRequest, caller: Caller, letter_id: UUID) -> HttpResponse:
    letter = _letter(caller, letter_id)
    change = Change(
        "Discard this dead letter?",
        (
            "It is closed without any effect, and stays readable.",
            f"Reason why it is here: {letter.reason}",
        ),
        "Discard message",
        _url(letter),
        "Discarded the message.",
        (_REASON,),
        _copies(request, letter, "discard"),
        is_destructive=True,
    )
    return confirm_change(
        request,
        change,
        lambda form: letters.discard(
            letter.id, caller=caller, actor=actor_of(caller, form.get("reason", ""))
        ),
    )


def _letter(caller: Caller, letter_id: UUID) -> Any:
    letter = get_letter(caller, letter_id)
    caller.require(Action.DISPATCH_OPERATE, owner=letter.team_id)
    return letter


def _url(letter: Any) -> str:
    return reverse("dead-letter", args=[letter.id])


def _copies(request: HttpRequest, letter: Any, verb: str) -> dict[str, str]:
    return {
        "curl": curl(request, "POST", f"dead-letters/{letter.id}:{verb}"),
        "cpctl": cpctl("dead-letters", verb, str(letter.id)),
    }
