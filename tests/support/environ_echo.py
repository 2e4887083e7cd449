"""A WSGI application that tells what it was given, plain and behind our bridge, for a server to serve."""

from __future__ import annotations

import json
import threading
import time
from typing import Any

from controlplane.web.django_bridge import Bridge

THREADS = 2
_closed: list[str] = []


def application(environ: dict[str, Any], start_response: Any) -> Any:
    if environ["PATH_INFO"] == "/endless":
        start_response("200 OK", [("Content-Type", "text/plain")])
        return Endless()
    if environ["PATH_INFO"] == "/closed":
        body = json.dumps(_closed).encode()
    else:
        variables = {name: value for name, value in environ.items() if isinstance(value, str | int | tuple)}
        content = environ["wsgi.input"].read()
        body = json.dumps({"environ": variables, "body": repr(content[:20]), "length": len(content)}).encode()
    start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
    return [body]


class Endless:
    streaming = True

    def __iter__(self) -> Any:
        while True:
            time.sleep(0.01)
            yield b"x" * 1000

    def close(self) -> None:
        _closed.append(threading.current_thread().name)


_bridge = Bridge(application, threads=THREADS, queue=8, body_limit=1_000_000)


async def bridged(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "http":
        await _bridge(scope, receive, send)
        return
    for event in ("startup", "shutdown"):
        await receive()
        await send({"type": f"lifespan.{event}.complete"})
