"""Gates that a bundle must pass before a data plane gets it. Pure.

`team_parts` holds a faulty change of a single team, for that team only. The gates here are for platform
changes and unforeseen errors. While a bundle is held, the last bundle that passed stays active.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from controlplane.errors import MalformedBody
from controlplane.formats import strict_yaml
from registry.agent_configs.bundles.bundle import Bundle
from registry.agent_configs.bundles.rendering import as_yaml, bundle_digest, render_configuration
from registry.agent_configs.documents.schema import find_misreadings

# A kind ("agents" or "task types") and a name.
BundleName = tuple[str, str]


class Gate(StrEnum):
    """Stable names, part of the API."""

    MISREAD = "misread"
    TOO_LARGE = "too_large"
    REMOVES_TOO_MUCH = "removes_too_much"
    NEEDS_APPROVAL = "needs_approval"
    REJECTED = "rejected"
    EARLIER_STAGE = "earlier_stage"
    TOO_MANY_AGENTS = "too_many_agents"


@dataclass(frozen=True, slots=True)
class GateLimits:
    """Limits of the gates; see docs/adr/0022. A removal above both removal limits is held.

    bytes: of a data plane's configuration, shared by all teams. team_bytes, team_agents: of one team's part.
    """

    bytes: int = 8 << 20
    removal_share: float = 0.5
    removal_count: int = 3
    approval_required: bool = False
    team_bytes: int = 1 << 20
    team_agents: int = 200


@dataclass(frozen=True, slots=True)
class Hold:
    """Why a bundle is held. An approval of its digest overrides every gate except unreadable output."""

    gate: Gate
    message: str


def find_holds(
    bundle: Bundle,
    before: Bundle | None,
    gates: GateLimits | None = None,
    approved: frozenset[str] = frozenset(),
    rejected: frozenset[str] = frozenset(),
    *,
    waits_for: Sequence[str] = (),
    leaving: frozenset[BundleName] = frozenset(),
    is_approved_by_team: bool = False,
) -> tuple[Hold, ...]:
    """Return all holds on a bundle. before: the active bundle.

    waits_for: data planes of earlier stages that have not settled.
    approved: digests that people approved; rejected: digests that the data plane rejected.
    leaving: names that their own teams remove; their parts are checked already.
    is_approved_by_team: only team parts change, and each was approved.
    """
    gates = gates or GateLimits()
    if before is not None and bundle_digest(before) == bundle_digest(bundle):
        # Already active, so there is nothing to hold.
        return ()
    text = as_yaml(bundle)
    holds = [*_find_misreadings(bundle, text), *_check_size(text, gates)]
    if bundle_digest(bundle) not in approved:
        if before is not None:
            holds += find_excess_removals(before, bundle, gates, leaving)
        if bundle_digest(bundle) in rejected:
            holds.append(Hold(Gate.REJECTED, "The data plane rejected this configuration."))
        holds += _check_earlier_stages(bundle, before, waits_for)
        if gates.approval_required and not is_approved_by_team:
            holds.append(Hold(Gate.NEEDS_APPROVAL, "Changes of this data plane require approval."))
    return tuple(holds)


def redact_holds(holds: Iterable[Hold]) -> tuple[Hold, ...]:
    """Hide pointers from readers who cannot see all teams: a pointer may name another team's agent."""
    message = "Flyte would misread the configuration. Administrators can see where."
    return tuple(replace(hold, message=message) if hold.gate is Gate.MISREAD else hold for hold in holds)


def names_in_bundle(bundle: Bundle) -> frozenset[BundleName]:
    """Return the agents and task types of a bundle, each with its kind."""
    agents = {("agents", name) for name in bundle.agents}
    routes = {("task types", f"{route.task_type} {route.version} {route.pin}") for route in bundle.routes}
    return frozenset(agents | routes)


def find_excess_removals(
    before: Bundle, after: Bundle, gates: GateLimits, leaving: frozenset[BundleName] = frozenset()
) -> Iterator[Hold]:
    """Hold large removals: a partly available source looks like a team that deleted everything."""
    old, new = names_in_bundle(before), names_in_bundle(after)
    gone = old - new - leaving
    for kind in ("agents", "task types"):
        lost = sum(name[0] == kind for name in gone)
        total = sum(name[0] == kind for name in old)
        if lost >= gates.removal_count and lost > gates.removal_share * total:
            yield Hold(Gate.REMOVES_TOO_MUCH, f"{lost} of {total} {kind} would be removed.")


def _find_misreadings(bundle: Bundle, text: str) -> Iterator[Hold]:
    """Read the rendered document as a data plane would."""
    document, names = render_configuration(bundle), bundle.target.names
    for name in sorted(bundle.target.platform.keys() & {names.agents, names.routes, "supportedTaskTypes"}):
        yield Hold(Gate.MISREAD, f"The platform settings include {name}, which only documents can set.")
    try:
        read = strict_yaml.load(text)
    except MalformedBody as error:
        yield Hold(Gate.MISREAD, f"The rendered configuration cannot be parsed: {error.detail}")
        return
    if read != document:
        yield Hold(Gate.MISREAD, "The rendered configuration does not parse to the same content.")
    for pointer in find_misreadings(document, names):
        yield Hold(Gate.MISREAD, f"Flyte would reject, drop or misread {pointer}.")


def _check_size(text: str, gates: GateLimits) -> Iterator[Hold]:
    # Teams within their share are accepted however large others are, so the sum can reach twice the limit.
    size, most = len(text.encode()), 2 * gates.bytes
    if size > most:
        yield Hold(Gate.TOO_LARGE, f"The configuration has {size} bytes; the maximum is {most}.")


def _check_earlier_stages(bundle: Bundle, before: Bundle | None, waits_for: Sequence[str]) -> Iterator[Hold]:
    """Hold for earlier stages. A data plane without any bundle does not wait."""
    if waits_for and before is not None:
        more = f" and {len(waits_for) - 1} more" if len(waits_for) > 1 else ""
        message = f"Waiting for {waits_for[0]}{more} in an earlier stage to apply the change."
        yield Hold(Gate.EARLIER_STAGE, message)
