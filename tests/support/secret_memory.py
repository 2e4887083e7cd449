"""Secrets that a test has seen, and the search for them in dumps and logs, in whatever form they are."""

from __future__ import annotations

import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

# What tokens and JWTs look like, whether or not the test has seen them.
TOKEN = re.compile(r"cp_[a-z]{3}_[0-9A-Za-z]{49}")
JWT = re.compile(r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*")
# A shorter one could be found by chance.
_SHORTEST = 8
_EXCERPT = 60


class SecretMemory:
    """Secrets by the flow that made them."""

    def __init__(self) -> None:
        self._secrets: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._secrets)

    def remember(self, flow: str, secret: str) -> str:
        """Remember a secret, and return it."""
        assert len(secret) >= _SHORTEST, f"{flow}: too short to be searched for"
        self._secrets[secret] = flow
        return secret

    def find_in(self, text: str) -> list[str]:
        """Return which secrets are in the text: the flow, the form and what is around it."""
        findings = [
            f"{flow} ({form}): {_around(text, text.index(shape), len(shape))}"
            for secret, flow in self._secrets.items()
            for form, shape in _forms(secret)
            if shape in text
        ]
        for kind, pattern in (("token", TOKEN), ("JWT", JWT)):
            findings += [
                f"a {kind}: {_around(text, match.start(), len(match[0]))}" for match in pattern.finditer(text)
            ]
        return findings


def _forms(secret: str) -> Iterator[tuple[str, str]]:
    """Yield the forms in which the secret could be stored or logged."""
    data = secret.encode()
    yield "as it is", secret
    yield "hex", data.hex()
    for quoted in {quote(secret, safe=""), quote_plus(secret)} - {secret}:
        yield "in a URL", quoted
    for encode in (b64encode, urlsafe_b64encode):
        for offset in range(3):
            # The characters that do not depend on what precedes and follows the secret.
            text = encode(b"\0" * offset + data).decode().rstrip("=")
            yield "base64", text[(0, 2, 3)[offset] : -2]


def _around(text: str, start: int, length: int) -> str:
    return text[max(0, start - _EXCERPT) : start + length + _EXCERPT].replace("\n", " ")
