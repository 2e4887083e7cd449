"""Hold changes of overrides back that need approvals, and record who changed them without."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace

from controlplane.access import audit
from controlplane.errors import ApprovalRequired
from controlplane.identity.actors import Actor
from overrides import event_types
from overrides.approvals.decisions import Consent, Policy, refusing, required_by, sentence, unsatisfied
from overrides.approvals.storage import policies_at
from overrides.editing.draft import Draft
from overrides.resolution.addresses import Address

_OPTIONS = {"project": "-p", "domain": "-d", "workflow": "-w", "launch_plan": "--launch-plan"}


def check_approved(drafts: Sequence[Draft], consent: Consent, *, refuses: bool) -> tuple[Policy, ...]:
    """Return the policies that need more approvals. Raises ApprovalRequired unless all are bypassed.

    refuses: False for a dry run.
    """
    policies = unsatisfied(policies_at(draft.address.scope for draft in drafts), consent)
    refused = refusing(policies, consent) if refuses else ()
    if refused:
        draft = next(draft for draft in drafts if refused[0].scope.covers(draft.address.scope))
        raise approval_error(refused, consent, _next_step(refused[0], consent, draft))
    return policies


def approval_error(policies: Sequence[Policy], consent: Consent, next_step: str) -> ApprovalRequired:
    """Return the error with the policies, the strictest first."""
    return ApprovalRequired(
        f"{sentence(policies[0], consent.approvals)} {next_step}",
        policies=[show_policy(policy) for policy in policies],
        required=required_by(policies),
        approvals=consent.approvals,
    )


def _next_step(policy: Policy, consent: Consent, draft: Draft) -> str:
    if consent.bypass is not None:
        return f"To change them without, you need approval.bypass at {policy.scope}."
    return f"Open a change request: {request_command(draft.address, deletes=draft.after is None)}"


def request_command(address: Address, *, deletes: bool = False) -> str:
    """Return the command that opens a change request for the override."""
    segments = address.scope.segments
    named = [f"{option} {shlex.quote(segments[name])}" for name, option in _OPTIONS.items() if segments[name]]
    ending = "--delete" if deletes else "-f FILE"
    return " ".join(["cpctl change-requests create", address.resource_type, *named, ending])


def show_policy(policy: Policy) -> dict[str, object]:
    """Return a policy as errors and plans contain it."""
    return {
        "id": str(policy.id),
        "scope": {"level": policy.scope.level.name.lower(), **policy.scope.segments},
        "approvals": policy.approvals,
        "created_by": policy.created_by,
        "reason": policy.reason,
    }


def with_bypass_reason(actor: Actor, consent: Consent, policies: Sequence[Policy]) -> Actor:
    """Return the actor, whose reason is that of the bypass if it gives no other."""
    if consent.bypass is None or not policies or actor.reason:
        return actor
    return replace(actor, reason=consent.bypass.reason)


def record_bypassed(policies: Sequence[Policy], consent: Consent, actor: Actor, revision: int) -> None:
    """Write an audit row and an event for each policy that was bypassed."""
    bypass = consent.bypass
    if bypass is None or not revision or not policies:
        return
    mutations = []
    for policy in policies:
        data = {"scope": policy.scope.segments, "reason": bypass.reason, "revision": revision}
        mutations.append(
            audit.Mutation(event_types.POLICY_BYPASSED, str(policy.id), None, data, data, scope=policy.scope)
        )
    audit.record_many("approval_policy", mutations, actor=replace(actor, reason=bypass.reason))
