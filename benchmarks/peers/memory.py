"""The bare server: an ASGI application that answers the same bytes from memory, whatever is asked."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

_ANSWER = json.loads(Path(os.environ["BENCH_ANSWER"]).read_text())
_HEADERS = [(name.encode(), value.encode()) for name, value in _ANSWER["headers"]]
_BODY = _ANSWER["body"].encode()


async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
    if scope["type"] == "lifespan":
        for _ in range(2):
            message = await receive()
            await send({"type": f"{message['type']}.complete"})
        return
    await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
    await send({"type": "http.response.body", "body": _BODY})
