"""Approvals in the editor: what a protected scope demands, and a change request in the place of a save."""

from __future__ import annotations

from django.db import transaction

from console.overrides.form_input import OverrideForm, write_options
from console.pages import actor_of
from controlplane.access.people import people_behind
from controlplane.errors import FieldError, InvalidRequest
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.scopes import Scope
from overrides.approval_models import ChangeRequest
from overrides.approvals.decisions import required_by
from overrides.approvals.storage import policies_at
from overrides.change_requests.decisions import Way
from overrides.change_requests.planning import RequestedChange
from overrides.change_requests.requests import Proposal, open_request
from overrides.editing.writes import preview_override
from overrides.resolution.addresses import Address
from overrides.resolution.merging import Attributes

STEPS = {"request": Way.ATTRIBUTES, "request-delete": Way.DELETE}
_LONGEST_MESSAGE = 400


def protection(caller: Caller, scope: Scope) -> dict[str, object]:
    """Return the context of the banner: how many approvals changes at the scope need, and by whom."""
    policies = policies_at([scope])
    return {
        "policies": policies,
        "required_approvals": required_by(policies),
        "may_bypass_approvals": bool(policies) and bool(caller.scopes_for(Action.APPROVAL_BYPASS)),
    }


@transaction.atomic
def request_change(
    caller: Caller, address: Address, attributes: Attributes | None, form: OverrideForm
) -> ChangeRequest:
    """Open a change request for the edited version. Raises VersionMismatch, and like a save."""
    if form.until:
        message = "A change request has no end. Leave Until empty."
        raise InvalidRequest(message, errors=[FieldError("/until", "not_allowed", message)])
    actor = actor_of(caller, form.reason)
    # Checks that nobody changed the edited version meanwhile.
    preview_override(
        address, attributes, actor=actor, options=write_options(form, caller, address.scope, saves=False)
    )
    way = Way.DELETE if attributes is None else Way.ATTRIBUTES
    proposal = Proposal(
        RequestedChange(address, way, attributes),
        people_behind(caller.principal_id),
        form.reason[:_LONGEST_MESSAGE],
        form.ticket,
    )
    return open_request(proposal, actor=actor)
