"""What people write of a sink, and what of it is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from controlplane.access.team_models import Team
from controlplane.delivery.filters import filter_from
from controlplane.delivery.flavours import NATIVE, Flavour, is_known
from controlplane.delivery.kinds import invalid_setting, kind_named, kind_names
from controlplane.delivery.models import Ordering
from controlplane.delivery.signing import check_secret, new_secret
from controlplane.extras import missing

WEBHOOK = "webhook"


@dataclass(frozen=True, slots=True)
class SinkTerms:
    """What people write of a sink. credentials: by name; None keeps those that are there."""

    name: str
    config: Mapping[str, Any]
    kind: str = WEBHOOK
    filter: Mapping[str, Any] = field(default_factory=dict)
    flavour: str = NATIVE
    ordering: str = Ordering.OBJECT
    max_in_flight: int = 8
    per_second: int = 50
    credentials: Mapping[str, str] | None = None


def check_terms(terms: SinkTerms) -> None:
    """Raise InvalidRequest unless events could be sent there and the filter can be read."""
    filter_from(terms.filter).check()
    kind = kind_named(terms.kind)
    if kind is None:
        message = f"This installation has no kind {terms.kind!r}. It has: {', '.join(kind_names())}."
        raise invalid_setting("/kind", message)
    _check_flavour(terms.flavour)
    kind.check(terms.config, terms.credentials or {})


def _check_flavour(name: str) -> None:
    if name not in set(Flavour):
        raise invalid_setting("/flavour", f"There is no flavour {name!r}. Choose of {', '.join(Flavour)}.")
    flavour = Flavour(name)
    if not is_known(flavour):
        raise invalid_setting("/flavour", missing(flavour.product))


def check_owner(terms: SinkTerms, team: Team | None) -> None:
    """Raise InvalidRequest if a team may not have sinks with these settings."""
    kind = kind_named(terms.kind)
    if kind is not None and team is not None and kind.is_of_platform(terms.config):
        message = f"Only the platform has such sinks of kind {terms.kind}. Ask an operator for one."
        raise invalid_setting("/team", message)


def first_secret(kind_name: str, secret: str) -> str:
    """Return the signing secret of a new sink: a new one unless one is given; empty if it signs nothing."""
    kind = kind_named(kind_name)
    if kind is None or not kind.is_signed:
        return ""
    if secret:
        check_secret(secret)
    return secret or new_secret()
