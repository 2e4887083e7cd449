"""Passwords of people: policy and change."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction

from controlplane.access import audit, event_types
from controlplane.access.login import limits, sessions
from controlplane.access.login.limits import Attempt
from controlplane.access.models import Principal, PrincipalKind
from controlplane.errors import FieldError, InvalidRequest, PermissionDenied, TooManyAttempts
from controlplane.identity.actors import Actor


@dataclass(frozen=True, slots=True)
class PasswordChange:
    """A request to change a password. session: digest of the session to keep; None ends all sessions."""

    principal_id: UUID
    current: str
    new: str
    address: str
    session: bytes | None


def check_policy(password: str, pointer: str) -> None:
    """Check a new password. Raises InvalidRequest with all violations of the policy."""
    try:
        validate_password(password)
    except ValidationError as error:
        raise _refusal(pointer, "not_allowed", " ".join(error.messages)) from error


@transaction.atomic
def change_password(change: PasswordChange, *, actor: Actor) -> Principal:
    """Set a new password and end the person's other sessions.

    Raises InvalidRequest, PermissionDenied if the principal has no password, and TooManyAttempts.
    """
    # Waits for a concurrent change, after which this change has a wrong current password.
    principals = Principal.objects.select_for_update(no_key=True).filter(
        id=change.principal_id, is_active=True
    )
    person = principals.filter(kind=PrincipalKind.PERSON).first()
    if person is None:
        raise PermissionDenied("Only people have passwords. Services and agents use tokens.")
    check_policy(change.new, "/new_password")
    if change.new == change.current:
        raise _refusal(
            "/new_password",
            "unchanged",
            "The new password is the same as the current one. Choose a different password.",
        )
    check_password(person, change.current, address=change.address, pointer="/current_password")
    person.set_password(change.new)
    person.save(update_fields=["password"])
    sessions.end_sessions(person.name, but=change.session, actor=actor)
    audit.record(
        event_types.PASSWORD_CHANGED,
        "principal",
        person.name,
        actor=actor,
        before=None,
        after=None,
        data={"principal": person.name},
    )
    return person


def check_password(person: Principal, password: str, *, address: str, pointer: str) -> None:
    """Check the password of a logged-in person. Raises InvalidRequest, TooManyAttempts.

    pointer: of the password in the request.
    """
    attempt = Attempt(person.name, address)
    if limits.count_attempt(attempt):
        raise TooManyAttempts(
            "Too many incorrect passwords. Try again in five minutes.",
            retry_after=limits.WINDOW_SECONDS,
        )
    if not person.check_password(password):
        raise _refusal(pointer, "incorrect", "The current password is incorrect.")
    limits.forgive(attempt)


def _refusal(pointer: str, code: str, message: str) -> InvalidRequest:
    return InvalidRequest(message, errors=[FieldError(pointer, code, message)])
