"""Hold changes of overrides at frozen scopes back, and record who changed them in spite of a freeze."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from controlplane.access import audit
from controlplane.errors import ChangeFrozen
from controlplane.identity.actors import Actor
from overrides import event_types
from overrides.editing.draft import Draft
from overrides.freezes.decisions import Freeze, FreezeOverride, refusing, sentence
from overrides.freezes.storage import active_freezes


def check_frozen(
    drafts: Sequence[Draft], override: FreezeOverride | None, *, refuses: bool
) -> tuple[Freeze, ...]:
    """Return the freezes over the drafts. Raises ChangeFrozen unless all are overridden.

    refuses: False for a dry run.
    """
    freezes = active_freezes(draft.address.scope for draft in drafts)
    if refuses and (refused := refusing(freezes, override)):
        raise frozen_error(refused, wants_override=override is not None)
    return freezes


def frozen_error(freezes: Sequence[Freeze], *, wants_override: bool = False) -> ChangeFrozen:
    """Return the error with the freezes, the last to end first, and the next step."""
    step = (
        f"To override it you need freeze.override at {freezes[0].scope}."
        if wants_override
        else "Wait until it ends, or send override_freeze=<reason> if you have freeze.override there."
    )
    return ChangeFrozen(
        f"{_ended(sentence(freezes[0]))} {step}", freezes=[show_frozen(freeze) for freeze in freezes]
    )


def show_frozen(freeze: Freeze) -> dict[str, object]:
    """Return a freeze as errors and plans contain it."""
    return {
        "id": str(freeze.id),
        "scope": {"level": freeze.scope.level.name.lower(), **freeze.scope.segments},
        "ends_at": freeze.ends_at.isoformat().replace("+00:00", "Z"),
        "reason": freeze.reason,
        "created_by": freeze.created_by,
    }


def with_reason(actor: Actor, override: FreezeOverride | None, freezes: Sequence[Freeze]) -> Actor:
    """Return the actor, whose reason is that of the override if it gives no other."""
    if override is None or not freezes or actor.reason:
        return actor
    return replace(actor, reason=override.reason)


def record_overridden(
    freezes: Sequence[Freeze], override: FreezeOverride | None, actor: Actor, revision: int
) -> None:
    """Write an audit row and an event for each freeze that was overridden."""
    if override is None or not revision:
        return
    audited = replace(actor, reason=override.reason)
    mutations = []
    for freeze in freezes:
        data = {"scope": freeze.scope.segments, "reason": override.reason, "revision": revision}
        mutations.append(
            audit.Mutation(
                event_types.FREEZE_OVERRIDDEN, str(freeze.id), None, data, data, scope=freeze.scope
            )
        )
    if mutations:
        audit.record_many("override_freeze", mutations, actor=audited)


def _ended(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."
