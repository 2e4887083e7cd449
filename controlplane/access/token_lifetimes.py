"""Lifetimes of new tokens. Pure.

A token never outlives the token with which it was created. Only administrators can create tokens that never
expire, with a session or with a token that never expires.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum

from controlplane.errors import FieldError, InvalidRequest

# Clients compute "a year from now" by their own clock.
_LEEWAY = timedelta(minutes=5)


class Unspecified(Enum):
    """The value of an expiry that the request omits."""

    EXPIRY = "expiry"


RequestedExpiry = datetime | None | Unspecified


@dataclass(frozen=True, slots=True)
class Policy:
    """Limits of lifetimes. default: for requests without an expiry."""

    default: timedelta
    longest: timedelta


@dataclass(frozen=True, slots=True)
class Creation:
    """Context of a new token. now: the database's clock. created_with_ends_at: expiry of the token in use.

    may_be_endless: the caller is an administrator.
    """

    now: datetime
    created_with_ends_at: datetime | None
    may_be_endless: bool


def expiry_of(requested: RequestedExpiry, creation: Creation, policy: Policy) -> datetime | None:
    """Return when the token expires; None: never. Raises InvalidRequest if the expiry is not allowed."""
    if isinstance(requested, Unspecified):
        return _default(creation, policy)
    limit = creation.created_with_ends_at
    if requested is not None and requested <= creation.now:
        raise _refusal("in_the_past", f"{_format_time(requested)} is in the past. Choose a later expiry.")
    if limit is not None and (requested is None or requested > limit):
        raise outlives_its_issuer(limit, "/expires_at")
    if requested is None and not creation.may_be_endless:
        message = "Only administrators can create tokens that never expire. Choose an expiry."
        raise _refusal("endless", message)
    if requested is not None and requested > creation.now + policy.longest + _LEEWAY:
        message = f"Tokens can be valid for at most {policy.longest.days} days. Choose an earlier expiry."
        raise _refusal("too_late", message)
    return requested


def outlives_its_issuer(limit: datetime, pointer: str) -> InvalidRequest:
    """Return the error for an object that would outlive the token with which it is created."""
    message = (
        f"Your token expires at {_format_time(limit)}, and what you create with it cannot be valid longer."
    )
    return _refusal("outlives_its_issuer", f"{message} Choose an earlier expiry.", pointer)


def _default(creation: Creation, policy: Policy) -> datetime:
    ends = [creation.now + min(policy.default, policy.longest)]
    if creation.created_with_ends_at is not None:
        ends.append(creation.created_with_ends_at)
    return min(ends)


def _refusal(code: str, message: str, pointer: str = "/expires_at") -> InvalidRequest:
    return InvalidRequest(message, errors=[FieldError(pointer, code, message)])


def _format_time(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"
