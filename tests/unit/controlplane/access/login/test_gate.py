"""The login page is guarded before Django: a flood from one address is refused, and others get through."""

from __future__ import annotations

import asyncio
from ipaddress import ip_network
from typing import Any

from controlplane.endpoints.access.login_gate import LoginGate

TRUSTED = [ip_network("10.0.0.0/8")]


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


async def page(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"page"})


def ask(gate: LoginGate, peer: str, forwarded: str = "") -> dict[str, Any]:
    messages: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        messages.append(message)

    headers = [(b"x-forwarded-for", forwarded.encode())] if forwarded else []
    asyncio.run(gate({"client": (peer, 1), "headers": headers}, None, send))  # type: ignore[arg-type]
    return messages[0]


def statuses(gate: LoginGate, *addresses: tuple[str, str]) -> list[int]:
    return [ask(gate, *address)["status"] for address in addresses]


def test_an_address_is_refused_above_its_limit_until_the_minute_is_over():
    clock = Clock()
    gate = LoginGate(page, most=2, trusted=(), clock=clock)

    assert statuses(gate, *[("192.0.2.1", "")] * 3, ("192.0.2.2", "")) == [200, 200, 429, 200]
    assert dict(ask(gate, "192.0.2.1")["headers"])[b"retry-after"] == b"60"
    clock.now = 60.0
    assert statuses(gate, ("192.0.2.1", "")) == [200]


def test_behind_a_trusted_proxy_each_client_has_its_own_limit_and_nobody_can_choose_an_address():
    gate = LoginGate(page, most=1, trusted=TRUSTED)

    assert statuses(gate, ("10.0.0.1", "192.0.2.1"), ("10.0.0.1", "192.0.2.2")) == [200, 200]
    assert statuses(gate, ("192.0.2.9", "192.0.2.7"), ("192.0.2.9", "192.0.2.8")) == [200, 429]


def test_zero_is_no_limit():
    gate = LoginGate(page, most=0, trusted=())

    assert statuses(gate, *[("192.0.2.1", "")] * 9) == [200] * 9
