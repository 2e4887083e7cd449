"""An answer over NATS about a resource that does not exist: a message that nobody can handle."""

from __future__ import annotations

import asyncio
import json
import uuid
from typing import Any

import nats

from controlplane.demo.cast import PLATFORM, Cast
from controlplane.demo.chapters.fleet import agent_ids

_AGENT = "site-2"
_SECONDS = 5


def tell(cast: Cast) -> None:
    agent_id = agent_ids(cast)[_AGENT]
    login = cast.act(PLATFORM, "POST", f"agents/{agent_id}:issue-nats-login")
    asyncio.run(_send(login))
    cast.act(PLATFORM, "DELETE", f"agents/{agent_id}/nats-login")


async def _send(login: dict[str, Any]) -> None:
    connection = await nats.connect(
        login["url"],
        user=login["user"],
        password=login["password"],
        inbox_prefix=login["inbox_prefix"].encode(),
        connect_timeout=_SECONDS,
        allow_reconnect=False,
    )
    event = {
        "specversion": "1.0",
        "id": str(uuid.uuid4()),
        "source": f"dcm/agents/{_AGENT}",
        "type": "dcm.agent.creation-acknowledged",
        "data": {"resource_id": "pos-terminal-17", "agent_name": _AGENT, "epoch": 1},
    }
    await connection.publish(login["response_subject"], json.dumps(event).encode())
    await connection.flush(_SECONDS)
    await connection.close()
