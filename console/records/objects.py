"""Objects of audit records in words, with the address of their pages. Pure, except for the routes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.urls import reverse
from django.utils.http import urlencode

from controlplane.scopes import Scope

_NAMES = ("name", "slug", "id")
_Url = Callable[[str, Mapping[str, Any], Scope], str]


@dataclass(frozen=True, slots=True)
class AuditedObject:
    """The object of a record. name: readable; id: where it differs. url: of its page; empty without one."""

    name: str
    id: str = ""
    url: str = ""


def audited_object(
    object_type: str, object_id: str, before: Any, after: Any, scope: Scope = Scope(), *, name_now: str = ""
) -> AuditedObject:
    """Return the object of a record. before, after: the values in the record. name_now: if it is known."""
    state = next((value for value in (after, before) if isinstance(value, dict)), {})
    name = _name(object_type, object_id, state, scope)
    if name_now and name == object_id:
        name = name_now
    url_of = _URLS.get(object_type)
    url = url_of(object_id, state, scope) if url_of else ""
    return AuditedObject(name, object_id if name != object_id else "", url)


def _name(object_type: str, object_id: str, state: Mapping[str, Any], scope: Scope) -> str:
    """Return the name of an object that is recorded by a UUID, and otherwise its id."""
    if not is_uuid(object_id):
        return object_id
    if phrase := _phrase(object_type, state, scope):
        return phrase
    if principal := state.get("principal"):
        return f"{state['name']} of {principal}" if state.get("name") else f"{object_type} of {principal}"
    return next((str(state[key]) for key in _NAMES if state.get(key)), object_id)


def _phrase(object_type: str, state: Mapping[str, Any], scope: Scope) -> str:
    """Return the words for an object that has no name; empty if it may have one."""
    if object_type == "role_binding":
        return f"{state.get('role', '')} of {state.get('principal') or state.get('team') or 'nobody'}"
    if "resource_type" in state:
        return f"{state['resource_type']} at {_scope(state, scope)}"
    if object_type == "plugin_release" and "number" in state:
        return f"release {state['number']}"
    return f"freeze of {_scope(state, scope)}" if object_type == "override_freeze" else ""


def _scope(state: Mapping[str, Any], recorded: Scope) -> Scope:
    """Return the scope in the object; that of the record, if the object has none."""
    segments = state.get("scope")
    known = segments if isinstance(segments, dict) else state
    if known is state and not known.keys() & recorded.segments.keys():
        return recorded
    return Scope(**{name: str(known.get(name) or "") for name in recorded.segments})


def is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def _override(object_id: str, state: Mapping[str, Any], scope: Scope) -> str:
    resource_type = object_id.partition(" ")[0]
    segments = {name: value for name, value in scope.segments.items() if value}
    return (
        f"{reverse('override-history', args=[resource_type])}{'?' if segments else ''}{urlencode(segments)}"
    )


def _page(route: str) -> _Url:
    return lambda object_id, state, scope: reverse(route, args=[object_id])


def _list(route: str) -> _Url:
    return lambda object_id, state, scope: reverse(route)


_URLS: dict[str, _Url] = {
    "override": _override,
    "agent": _page("agent"),
    "project": _page("project"),
    "guard_rail": _page("guard-rail"),
    "resource_type": _page("resource-type"),
    "pool": _page("pool"),
    "sink": _page("sink"),
    "team": _page("team"),
    "role": _page("role"),
    "data_plane": _page("data-plane"),
    "resource": _page("resource"),
    "plugin_release": _page("plugin-release"),
    "override_freeze": _list("freezes"),
    "change_request": _page("change-request"),
    "override_change": _list("override-changes"),
    "fleet_guard": _list("guards"),
    "role_binding": _list("role-bindings"),
    "principal": _list("people"),
    "join_token": _list("join-tokens"),
}
