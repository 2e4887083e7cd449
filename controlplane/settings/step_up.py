"""Recent logins for sensitive actions, emergency access, and users from an identity provider."""

from controlplane.errors import InvalidScope
from controlplane.scopes import Scope
from controlplane.settings import environment as env

__all__ = ["BREAK_GLASS", "PROTECTED_SCOPES", "STEP_UP_ACR", "STEP_UP_MINUTES"]


def _scopes(raw: str) -> list[Scope]:
    """Parse `domain=production; project=billing,domain=staging`."""
    return [_scope(part) for part in raw.split(";") if part.strip()]


def _scope(text: str) -> Scope:
    pairs = [pair.partition("=") for pair in text.split(",")]
    try:
        return Scope(**{name.strip(): value.strip() for name, _, value in pairs})
    except (InvalidScope, TypeError) as error:
        raise ValueError(f"{text.strip()!r} is not a scope such as domain=production") from error


STEP_UP_MINUTES = env.integer(
    "STEP_UP_MINUTES",
    default=15,
    meaning="Minutes after a login during which a person can change access and guard rails, take ownership"
    " of values, change more than 100 objects at once, and change protected scopes. After that, the person"
    " must log in again first. Machine tokens are exempt. 0 turns this off.",
)
STEP_UP_ACR = env.names(
    "STEP_UP_ACR",
    default="",
    meaning="Values of `acr` or `amr`, comma-separated, of which the identity provider must state one for"
    " these actions, such as `mfa`. Empty: any login is sufficient.",
)
PROTECTED_SCOPES = env.parsed(
    "PROTECTED_SCOPES",
    _scopes,
    default="",
    meaning="Scopes in which every change requires a recent login, such as"
    " `domain=production; project=billing`.",
)
BREAK_GLASS = env.boolean(
    "BREAK_GLASS",
    default=True,
    meaning="Allow `manage.py break_glass`, which opens emergency access as administrator for a limited"
    " time.",
)
