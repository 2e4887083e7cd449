"""Try a provider's configuration with a token or claims: who could log in, and what they would get."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controlplane.access.issuers.verify import JwtRefused, read_token
from controlplane.access.login.oidc import id_tokens
from controlplane.access.login.oidc.claims import RuleMatch, match_rules
from controlplane.access.login.oidc.provider import Provider
from controlplane.access.login.oidc.provider_metadata import verify_token
from controlplane.errors import ControlplaneError


@dataclass(frozen=True, slots=True)
class ProviderTrial:
    """The result of a trial. token_is_valid: None without a token."""

    token_is_valid: bool | None
    may_log_in: bool
    problems: tuple[str, ...]
    matches: tuple[RuleMatch, ...]


def try_token(provider: Provider, text: str) -> ProviderTrial:
    """Check a token, and match its claims even if it is not valid. Nothing is stored."""
    try:
        claims: Mapping[str, Any] = read_token(text).claims
    except JwtRefused as error:
        return ProviderTrial(False, False, (error.reason,), ())
    try:
        verify_token(provider, text, id_tokens.expectations)
    except JwtRefused as error:
        return _try(provider, claims, False, (error.reason,))
    except ControlplaneError as error:
        return _try(provider, claims, False, (error.detail,))
    return _try(provider, claims, True, ())


def try_claims(provider: Provider, claims: Mapping[str, Any]) -> ProviderTrial:
    """Match claims as a valid token would have them."""
    return _try(provider, claims, None, ())


def _try(
    provider: Provider, claims: Mapping[str, Any], is_valid: bool | None, problems: tuple[str, ...]
) -> ProviderTrial:
    try:
        id_tokens.check_account(provider, claims)
    except ControlplaneError as error:
        problems = (*problems, error.detail)
    matches = tuple(match_rules(provider.rules, claims))
    return ProviderTrial(is_valid, not problems, problems, matches)
