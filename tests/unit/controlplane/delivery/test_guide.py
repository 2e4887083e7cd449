"""The programs of the guide for receivers: by package and by hand, they accept and refuse the same."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from controlplane.delivery.signing import SigningSecret, new_secret, webhook_headers
from tests.support.paths import ROOT

GUIDE = (ROOT / "docs/guides/webhooks.md").read_text()
BODY = b'{"id": "1"}'
SECRET = new_secret()


def by_package(headers: dict[str, str], body: bytes) -> bool:
    (program,) = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
    names: dict[str, Any] = {"secret": SECRET, "headers": headers, "body": body}
    exec(program, names)
    return names["event"] is not None


def by_hand(headers: dict[str, str], body: bytes) -> bool:
    (program,) = re.findall(r"receiver.py <<'END'\n(.*?)\n\n\nclass ", GUIDE, re.DOTALL)
    names: dict[str, Any] = {}
    exec(program, names)
    return bool(names["is_genuine"](headers, body))


@pytest.mark.parametrize("is_genuine", [by_package, by_hand])
def test_the_programs_of_the_guide_accept_what_is_genuine_alone(
    is_genuine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("secrets.txt").write_text(f"{new_secret()}\n{SECRET}\n")
    now = datetime.fromtimestamp(int(time.time()), UTC)

    def headers(at: datetime, *secrets: str) -> dict[str, str]:
        signing = [SigningSecret(secret) for secret in secrets]
        return webhook_headers(BODY, message_id="1", signing_secrets=signing, now=at)

    rotated = headers(now, new_secret(), SECRET)
    assert is_genuine(rotated, BODY)
    assert not is_genuine(rotated, BODY + b" ")
    assert not is_genuine({**rotated, "webhook-id": "2"}, BODY)
    assert not is_genuine(headers(now, new_secret()), BODY)
    assert not is_genuine(headers(now - timedelta(minutes=6), SECRET), BODY)
