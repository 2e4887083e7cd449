"""Look up resources for pages."""

from __future__ import annotations

from typing import Any

from django.db.models.functions import Now

from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry.dispatch.resources.search import readable_resources
from registry.dispatch.storage import unknown_resource


def get_resource(caller: Caller, resource_id: str) -> Any:
    """Return the resource with the database's time as `now`. Raises UnknownResource."""
    row = readable_resources(caller).annotate(now=Now()).filter(id=resource_id).first()
    if row is None:
        raise unknown_resource(resource_id)
    return row


def require_for_some(caller: Caller, action: Action) -> None:
    """Raise PermissionDenied unless the caller may perform the action at some scope, or for some team."""
    if not any(action in grant.actions for grant in caller.grants):
        caller.require(action)
