"""The control plane's API as an agent uses it, and the tokens with which the agent joins."""

from __future__ import annotations

import json
import logging
import time
import urllib.error
import urllib.request
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

JOIN_TOKEN = "cp_joi_"  # noqa: S105  (its beginning)
log = logging.getLogger("agent")


class Refused(Exception):
    """The control plane answered, and not with 2xx. code: of the problem document."""

    def __init__(self, status: int, detail: str, retry_after: float, code: str = "") -> None:
        super().__init__(f"{status}: {detail}")
        self.status, self.retry_after, self.code = status, retry_after, code


class SubjectToken:
    """The token of an issuer, such as that of a Kubernetes service account, in a file that is replaced.

    The control plane takes each one once. What it gives for it ends soon: see `is_due`.
    """

    def __init__(self, file: str) -> None:
        self.file, self.used = Path(file), ""
        # Times of this process's clock. After a restart we do not know when our own token ends.
        self.renewal_at, self.last_call_at = 0.0, float("inf")

    def use(self) -> str:
        self.used = self.file.read_text().strip()
        return self.used

    def is_due(self) -> bool:
        """After half the life of our own token with the next file; after three quarters with any."""
        now = time.monotonic()
        if now < self.renewal_at:
            return False
        try:
            return now >= self.last_call_at or self.file.read_text().strip() != self.used
        except OSError as error:
            log.warning("cannot read %s: %s", self.file, error)
            return False

    def plan(self, ends_at: str) -> None:
        life = (datetime.fromisoformat(ends_at) - datetime.now(UTC)).total_seconds()
        now = time.monotonic()
        self.renewal_at, self.last_call_at = now + life / 2, now + life * 3 / 4


class ControlPlane:
    """Its API. The agent's own token, once it has one, is kept in a file that only it may read."""

    def __init__(self, url: str, given: str, kept: str | None, subject: SubjectToken | None = None) -> None:
        self.url, self.given, self.kept = url.rstrip("/"), given, Path(kept) if kept else None
        self.subject = subject
        self.token = self.kept.read_text().strip() if self.kept and self.kept.exists() else given
        self.join_key = ""

    @property
    def must_join(self) -> bool:
        return not self.token or self.token.startswith(JOIN_TOKEN)

    def call(self, method: str, path: str, body: Any = None, *, timeout: float = 10.0, **headers: str) -> Any:
        """Raises Refused, OSError (no connection) or http.client.HTTPException (half an answer)."""
        sent = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        request = urllib.request.Request(  # noqa: S310  (an address that its operator gave)
            f"{self.url}/api/v1/{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json", **sent},
        )
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:  # noqa: S310  (an address that its operator gave)
                return json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            raise _refused(error) from None

    def join(self, facts: dict[str, Any]) -> Any:
        """Join, and keep the token. Should the answer be lost, the same key gets another one."""
        file = self.kept.with_suffix(".join") if self.kept else None
        if not self.join_key:
            self.join_key = file.read_text().strip() if file and file.exists() else str(uuid.uuid4())
            _write(file, self.join_key)
        own, self.token = self.token, self.given
        body = {**facts, "subject_token": self.subject.use()} if self.subject else facts
        try:
            joined = self.call("POST", "agents:join", body, Idempotency_Key=self.join_key)
        except Refused as refused:
            if refused.code in ("idempotency_key_reused", "conflict"):
                self.forget_key(file)
            raise
        finally:
            # Refused, we go on with the token that we have.
            self.token = own
        self.token = joined["token"]
        if self.subject and joined.get("token_expires_at"):
            self.subject.plan(joined["token_expires_at"])
        _write(self.kept, self.token)
        self.forget_key(file)
        return joined["agent"]

    def forget_key(self, file: Path | None) -> None:
        self.join_key = ""
        if file:
            file.unlink(missing_ok=True)


def _write(file: Path | None, secret: str) -> None:
    """All of it or nothing, for nobody else to read."""
    if file:
        new = file.with_suffix(".new")
        new.touch(mode=0o600)
        new.write_text(secret)
        new.replace(file)


def _refused(error: urllib.error.HTTPError) -> Refused:
    try:
        problem = json.loads(error.read())
        detail, code = problem.get("detail", ""), problem.get("code", "")
    except (ValueError, AttributeError, OSError):
        detail, code = error.reason, ""
    after = error.headers.get("Retry-After", "0")
    return Refused(error.code, str(detail), float(after) if after.isdigit() else 0.0, str(code))
