"""How long a new token lives. Pure.

A token never outlives the token that it was created with. Tokens that never expire are for administrators to
create, with a session or with a token that never expires itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum

from controlplane.errors import FieldError, InvalidRequest

# Clients compute "a year from now" by their own clock.
_LEEWAY = timedelta(minutes=5)


class Unspecified(Enum):
    """The value of an expiry that the request does not mention."""

    EXPIRY = "expiry"


Wanted = datetime | None | Unspecified


@dataclass(frozen=True, slots=True)
class Policy:
    """default: where no expiry is given."""

    default: timedelta
    longest: timedelta


@dataclass(frozen=True, slots=True)
class Creation:
    """now: the database's clock. created_with_ends_at: the expiry of the token used, None without one.

    may_be_endless: the caller is an administrator.
    """

    now: datetime
    created_with_ends_at: datetime | None
    may_be_endless: bool


def expiry_of(wanted: Wanted, creation: Creation, policy: Policy) -> datetime | None:
    """Return when the token expires; None: never. Raises InvalidRequest for what cannot be had."""
    if isinstance(wanted, Unspecified):
        return _default(creation, policy)
    limit = creation.created_with_ends_at
    if wanted is not None and wanted <= creation.now:
        raise _refusal("in_the_past", f"{_shown(wanted)} is in the past. Choose a later expiry.")
    if limit is not None and (wanted is None or wanted > limit):
        raise outlives_its_issuer(limit, "/expires_at")
    if wanted is None and not creation.may_be_endless:
        message = "Only an administrator can create a token that never expires. Choose an expiry."
        raise _refusal("endless", message)
    if wanted is not None and wanted > creation.now + policy.longest + _LEEWAY:
        message = f"A token lives for at most {policy.longest.days} days. Choose an earlier expiry."
        raise _refusal("too_late", message)
    return wanted


def outlives_its_issuer(limit: datetime, pointer: str) -> InvalidRequest:
    """Return the error for what would live longer than the token that it is created with."""
    message = f"The token that you use expires at {_shown(limit)}; what it creates cannot live longer."
    return _refusal("outlives_its_issuer", f"{message} Choose an earlier expiry.", pointer)


def _default(creation: Creation, policy: Policy) -> datetime:
    ends = [creation.now + min(policy.default, policy.longest)]
    if creation.created_with_ends_at is not None:
        ends.append(creation.created_with_ends_at)
    return min(ends)


def _refusal(code: str, message: str, pointer: str = "/expires_at") -> InvalidRequest:
    return InvalidRequest(message, errors=[FieldError(pointer, code, message)])


def _shown(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"
