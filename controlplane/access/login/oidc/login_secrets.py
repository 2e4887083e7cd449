"""State, nonce and code verifier of a login, all derived from the random cookie of its browser. Pure."""

from __future__ import annotations

import hashlib
import hmac
from base64 import urlsafe_b64encode
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class LoginSecrets:
    """The secrets of one login, each with 256 bits. Only a browser with the cookie can present them.

    verifier: of PKCE (RFC 7636).
    """

    cookie: str = field(repr=False)

    @property
    def digest(self) -> bytes:
        """The key of the login's row."""
        return hashlib.sha256(self.cookie.encode(errors="replace")).digest()

    @property
    def state(self) -> str:
        return self._derive("state")

    @property
    def nonce(self) -> str:
        return self._derive("nonce")

    @property
    def verifier(self) -> str:
        return self._derive("code verifier")

    def is_state(self, state: str) -> bool:
        return hmac.compare_digest(self.state.encode(), state.encode(errors="replace"))

    def _derive(self, purpose: str) -> str:
        key = self.cookie.encode(errors="replace")
        return urlsafe_b64encode(hmac.digest(key, purpose.encode(), "sha256")).rstrip(b"=").decode()
