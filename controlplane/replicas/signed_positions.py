"""Positions as clients get them: signed, so that nobody makes requests wait by one that never comes."""

from __future__ import annotations

from django.core.signing import BadSignature, Signer

from controlplane.replicas.positions import Position, parse_position

_SALT = "replica-position"
HEADER = "X-Controlplane-Position"
COOKIE = "cp-position"


class UnreadablePosition(ValueError):
    """The text is no position that we have given."""


def signed(position: Position) -> str:
    return Signer(salt=_SALT).sign(str(position))


def read_signed(text: str) -> Position:
    """Return the position. Raises UnreadablePosition."""
    try:
        return parse_position(Signer(salt=_SALT).unsign(text))
    except (BadSignature, ValueError) as error:
        raise UnreadablePosition(text[:80]) from error
