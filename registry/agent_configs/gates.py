"""What a bundle must pass before a data plane is given it. Pure.

A bundle that is held changes nothing: the last one that passed stays in force.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from controlplane import yaml_text
from controlplane.errors import MalformedBody
from registry.agent_configs.bundles import Bundle
from registry.agent_configs.rendering import as_yaml, configuration, digest
from registry.agent_configs.schema import misreadings


class Gate(StrEnum):
    """Stable words, part of the API."""

    MISREAD = "misread"
    TOO_LARGE = "too_large"
    REMOVES_TOO_MUCH = "removes_too_much"
    NEEDS_APPROVAL = "needs_approval"
    REJECTED = "rejected"
    EARLIER_STAGE = "earlier_stage"


@dataclass(frozen=True, slots=True)
class Gates:
    """The limits: reasons are in docs/adr/0022. removal_share, removal_count: both must be passed to hold."""

    bytes: int = 8 << 20
    removal_share: float = 0.5
    removal_count: int = 3
    approval_required: bool = False


@dataclass(frozen=True, slots=True)
class Held:
    """Why a bundle is not given out. An approval of its digest overrules all but what would break."""

    gate: Gate
    message: str


def held_by(
    bundle: Bundle,
    before: Bundle | None,
    gates: Gates | None = None,
    approved: frozenset[str] = frozenset(),
    rejected: frozenset[str] = frozenset(),
    *,
    waits_for: Sequence[str] = (),
) -> tuple[Held, ...]:
    """Everything that holds a bundle. before: the one in force.

    waits_for: data planes that are given changes earlier, and are not done with them.
    approved: digests that somebody approved; rejected: digests that the data plane could not take.
    """
    gates = gates or Gates()
    if before is not None and digest(before) == digest(bundle):
        # In force already: nothing is given out that could be held.
        return ()
    text = as_yaml(bundle)
    found = [*_unreadable(bundle, text), *_large(text, gates)]
    if digest(bundle) not in approved:
        found += _removals(bundle, before, gates)
        if digest(bundle) in rejected:
            found.append(Held(Gate.REJECTED, "The data plane rejected exactly this configuration."))
        found += _too_early(bundle, before, waits_for)
        if gates.approval_required:
            found.append(Held(Gate.NEEDS_APPROVAL, "Every change waits for an approval here."))
    return tuple(found)


def _unreadable(bundle: Bundle, text: str) -> Iterator[Held]:
    """Read what is written, as a data plane will."""
    document, words = configuration(bundle), bundle.target.words
    for name in sorted(bundle.target.platform.keys() & {words.agents, words.routes, "supportedTaskTypes"}):
        yield Held(Gate.MISREAD, f"The platform's settings have {name}, which documents alone can set.")
    try:
        read = yaml_text.load(text)
    except MalformedBody as error:
        yield Held(Gate.MISREAD, f"What would be written cannot be read: {error.detail}")
        return
    if read != document:
        yield Held(Gate.MISREAD, "What would be written is read as something else.")
    for pointer in misreadings(document, words):
        yield Held(Gate.MISREAD, f"Flyte would refuse, lose or misread {pointer}.")


def _large(text: str, gates: Gates) -> Iterator[Held]:
    size = len(text.encode())
    if size > gates.bytes:
        yield Held(Gate.TOO_LARGE, f"The bundle has {size} bytes, more than {gates.bytes}.")


def _too_early(bundle: Bundle, before: Bundle | None, waits_for: Sequence[str]) -> Iterator[Held]:
    """A data plane that has nothing at all does not wait."""
    if waits_for and before is not None:
        more = f" and {len(waits_for) - 1} more" if len(waits_for) > 1 else ""
        message = f"It waits until {waits_for[0]}{more} of an earlier stage work with theirs."
        yield Held(Gate.EARLIER_STAGE, message)


def _removals(bundle: Bundle, before: Bundle | None, gates: Gates) -> Iterator[Held]:
    """A source that is half there looks as if teams had deleted everything."""
    if before is None:
        return
    for what, old, new in (
        ("agents", set(before.agents), set(bundle.agents)),
        ("task types", {one.name for one in before.routes}, {one.name for one in bundle.routes}),
    ):
        gone = len(old - new)
        if gone >= gates.removal_count and gone > gates.removal_share * len(old):
            message = f"{gone} of {len(old)} {what} would go. Approve the bundle if that is meant."
            yield Held(Gate.REMOVES_TOO_MUCH, message)
