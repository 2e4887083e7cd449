"""Verify a JWT with given keys and expectations. Pure.

Only the given keys count: headers that name a key or a URL of keys are refused, never followed. A refusal
names the claim or header, never its value.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from joserfc import jws
from joserfc.errors import JoseError

from controlplane.access.issuers.public_keys import ALGORITHMS, PublicKey
from controlplane.errors import MalformedBody
from controlplane.formats.strict_json import parse_json

MAX_LENGTH = 16 * 1024
LEEWAY_SECONDS = 60
# RFC 9068, and the type of issuers that predate it; empty: the header is absent.
ACCESS_TOKEN_TYPES = frozenset({"at+jwt", "jwt", ""})
_MAX_DEPTH = 12
_LAST_SECOND = 253_402_300_799  # of the year 9999
_FORM = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
_KEY_HEADERS = ("jku", "jwk", "x5u", "x5c")


class JwtRefused(Exception):
    """part: the refused claim or header, such as `aud`, `header.alg` or `signature`."""

    def __init__(self, part: str, reason: str) -> None:
        super().__init__(reason)
        self.part, self.reason = part, reason


class KeyMissing(JwtRefused):
    """None of the given keys has the token's key id. The issuer may have a new key."""


@dataclass(frozen=True, slots=True)
class UnverifiedToken:
    """A token as read, with a plain form and nothing verified."""

    text: str
    header: Mapping[str, Any]
    claims: Mapping[str, Any]

    @property
    def issuer(self) -> str:
        issuer = self.claims.get("iss")
        return issuer if isinstance(issuer, str) else ""

    @property
    def key_id(self) -> str | None:
        key_id = self.header.get("kid")
        return key_id if isinstance(key_id, str) else None

    @property
    def algorithm(self) -> str:
        return str(self.header["alg"])


@dataclass(frozen=True, slots=True)
class Expectations:
    """What a token must have.

    audiences: at least one of them. authorized_party: `azp` must equal it if present, and must be present
    if the token has several audiences. types: of the header `typ`, lower case. max_age: seconds after `iat`.
    required: claims that must be present besides `iss`, `aud`, `exp` and `iat`.
    """

    issuer: str
    audiences: frozenset[str]
    authorized_party: str | None = None
    types: frozenset[str] = ACCESS_TOKEN_TYPES
    max_age: int | None = None
    leeway: int = LEEWAY_SECONDS
    required: tuple[str, ...] = ("sub",)


def looks_like_jwt(text: str) -> bool:
    """True for three parts of base64url, whether or not they are a JWT."""
    return len(text) <= MAX_LENGTH and _FORM.fullmatch(text) is not None


def read_token(text: str) -> UnverifiedToken:
    """Return the token's header and claims, to find its issuer and key. Raises JwtRefused."""
    if not looks_like_jwt(text):
        raise JwtRefused("token", "The token is not a JWT, or is larger than 16 KiB.")
    first, second, _ = text.split(".")
    header, claims = _decode(first, "header"), _decode(second, "claims")
    algorithm = header.get("alg")
    if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
        raise JwtRefused("header.alg", f"The header `alg` must be one of {', '.join(ALGORITHMS)}.")
    if "crit" in header:
        raise JwtRefused("header.crit", "The header `crit` names extensions, of which none is supported.")
    for name in _KEY_HEADERS:
        if name in header:
            raise JwtRefused(f"header.{name}", f"The header `{name}` is not allowed.")
    return UnverifiedToken(text, header, claims)


def verify(
    token: UnverifiedToken, keys: Sequence[PublicKey], expectations: Expectations, *, now: float
) -> dict[str, Any]:
    """Return the claims of a token that has everything expected. Raises JwtRefused, KeyMissing.

    now: seconds since 1970.
    """
    # The signature first: claims that nobody signed must not be judged, not even by a refusal.
    _check_signature(token, keys)
    _check_type(token.header, expectations)
    _check_issuer(token.claims, expectations)
    _check_times(token.claims, expectations, now)
    for name in expectations.required:
        if not isinstance(token.claims.get(name), str) or not token.claims[name]:
            raise JwtRefused(name, f"The claim `{name}` is missing.")
    return dict(token.claims)


def audiences_of(claims: Mapping[str, Any]) -> frozenset[str]:
    """Return the audiences. Raises JwtRefused."""
    audience = claims.get("aud")
    audiences = [audience] if isinstance(audience, str) else audience
    if not isinstance(audiences, list) or not all(isinstance(item, str) for item in audiences):
        raise JwtRefused("aud", "The claim `aud` must be a string or a list of strings.")
    return frozenset(audiences)


def time_claim(claims: Mapping[str, Any], name: str) -> float:
    """Return a time in seconds since 1970. Raises JwtRefused."""
    value = claims.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _LAST_SECOND:
        raise JwtRefused(name, f"The claim `{name}` must be a number of seconds.")
    return float(value)


def _decode(part: str, name: str) -> dict[str, Any]:
    try:
        body = base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
        document = parse_json(body, max_depth=_MAX_DEPTH)
    except (ValueError, MalformedBody) as error:
        raise JwtRefused(name, f"The {name} of the token cannot be read.") from error
    if not isinstance(document, dict):
        raise JwtRefused(name, f"The {name} of the token must be an object.")
    return document


class _Registry(jws.JWSRegistry):
    """Exactly our algorithms, and headers of the usual size: Kubernetes' are longer than the default."""

    max_header_length = MAX_LENGTH

    def get_alg(self, name: str) -> Any:
        return self.algorithms[name]


_REGISTRY = _Registry(algorithms=list(ALGORITHMS), strict_check_header=False)


def _check_signature(token: UnverifiedToken, keys: Sequence[PublicKey]) -> None:
    for key in _candidates(token, keys):
        try:
            jws.deserialize_compact(token.text, key.key, registry=_REGISTRY)
        except (JoseError, ValueError):
            continue
        return
    raise JwtRefused("signature", "The signature of the token is invalid.")


def _candidates(token: UnverifiedToken, keys: Sequence[PublicKey]) -> list[PublicKey]:
    if "kid" in token.header and token.key_id is None:
        raise JwtRefused("header.kid", "The header `kid` must be a string.")
    named = [key for key in keys if token.key_id is None or key.id == token.key_id]
    if not named:
        raise KeyMissing("header.kid", "The issuer has no key with the id in the header `kid`.")
    fitting = [key for key in named if key.fits(token.algorithm)]
    if not fitting:
        raise JwtRefused("header.alg", "The header `alg` must be the algorithm of the issuer's key.")
    if token.key_id is None and len(fitting) > 1:
        raise JwtRefused("header.kid", "The header `kid` is required: the issuer has several keys.")
    return fitting


def _check_type(header: Mapping[str, Any], expectations: Expectations) -> None:
    name = header.get("typ", "")
    if not isinstance(name, str) or name.lower().removeprefix("application/") not in expectations.types:
        raise JwtRefused("header.typ", "The header `typ` is not that of a token for this purpose.")


def _check_issuer(claims: Mapping[str, Any], expectations: Expectations) -> None:
    if claims.get("iss") != expectations.issuer:
        raise JwtRefused("iss", "The claim `iss` is not the expected issuer.")
    audiences = audiences_of(claims)
    if not audiences & expectations.audiences:
        raise JwtRefused("aud", "The claim `aud` names none of the expected audiences.")
    party = claims.get("azp")
    if expectations.authorized_party is None or (party is None and len(audiences) == 1):
        return
    if party != expectations.authorized_party:
        raise JwtRefused("azp", "The claim `azp` is not the expected client.")


def _check_times(claims: Mapping[str, Any], expectations: Expectations, now: float) -> None:
    issued_at = time_claim(claims, "iat")
    if time_claim(claims, "exp") <= now - expectations.leeway:
        raise JwtRefused("exp", "The token has expired.")
    if "nbf" in claims and time_claim(claims, "nbf") > now + expectations.leeway:
        raise JwtRefused("nbf", "The token is not valid yet.")
    if issued_at > now + expectations.leeway:
        raise JwtRefused("iat", "The claim `iat` is in the future.")
    if expectations.max_age is not None and issued_at < now - expectations.max_age:
        raise JwtRefused("iat", f"The token was issued more than {expectations.max_age} seconds ago.")
