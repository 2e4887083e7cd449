"""The bare server: an ASGI application that answers the same bytes to the same questions from memory."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

_ANSWERS = {
    query.encode(): ([(name.encode(), value.encode()) for name, value in headers], body.encode())
    for query, (headers, body) in json.loads(Path(os.environ["BENCH_ANSWERS"]).read_text()).items()
}
_ANY = next(iter(_ANSWERS.values()))


async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
    if scope["type"] == "lifespan":
        for _ in range(2):
            message = await receive()
            await send({"type": f"{message['type']}.complete"})
        return
    headers, body = _ANSWERS.get(scope["query_string"], _ANY)
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})
