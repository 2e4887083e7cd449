"""An issuer of signed tokens, like a Kubernetes cluster: it publishes its keys and signs with them."""

from __future__ import annotations

import json
import threading
import time
import warnings
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from joserfc import jwk, jws
from joserfc.errors import SecurityWarning

ALGORITHMS = ["RS256", "PS256", "ES256", "EdDSA", "HS256", "none"]
# One RSA key for all issuers: making one takes a while.
RSA_KEY = jwk.RSAKey.generate_key(2048, {"kid": "rsa-1"})


def sign(claims: dict[str, Any], key: Any, *, alg: str = "RS256", **header: Any) -> str:
    """Sign claims with any key and header, for forgeries too. A header of None is left out."""
    full = {"alg": alg, "typ": "JWT", "kid": key.kid if key else None, **header}
    full = {name: value for name, value in full.items() if value is not None}
    registry = jws.JWSRegistry(algorithms=ALGORITHMS, strict_check_header=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SecurityWarning)
        return jws.serialize_compact(full, json.dumps(claims), key, registry=registry)


class TokenIssuer:
    """`requests` lists the paths that were requested. `is_down`: answers 500."""

    def __init__(self) -> None:
        self.keys: list[Any] = [RSA_KEY]
        self.requests: list[str] = []
        self.is_down = False
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def jwks(self) -> dict[str, Any]:
        return {"keys": [{**key.as_dict(private=False), "use": "sig"} for key in self.keys]}

    def rotate(self, kid: str) -> None:
        """Replace all keys by a new one."""
        self.keys = [jwk.ECKey.generate_key("P-256", {"kid": kid})]

    def claims(self, **claims: Any) -> dict[str, Any]:
        now = int(time.time())
        times = {"iat": now, "nbf": now, "exp": now + 600}
        all_claims = {"iss": self.url, "aud": "controlplane", "sub": "somebody", **times, **claims}
        return {name: value for name, value in all_claims.items() if value is not None}

    def token(self, **claims: Any) -> str:
        """Sign with the newest key. A claim of None is left out."""
        key = self.keys[-1]
        return sign(self.claims(**claims), key, alg="ES256" if key.key_type == "EC" else "RS256")

    def answer(self, path: str) -> tuple[int, Any]:
        self.requests.append(path)
        pages = {
            "/.well-known/openid-configuration": {"issuer": self.url, "jwks_uri": f"{self.url}/jwks"},
            "/jwks": self.jwks,
        }
        return (500, {}) if self.is_down or path not in pages else (200, pages[path])

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@contextmanager
def running_issuer() -> Any:
    issuer = TokenIssuer()
    try:
        yield issuer
    finally:
        issuer.close()


def _handler(issuer: TokenIssuer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, document = issuer.answer(self.path)
            body = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            pass

    return Handler
