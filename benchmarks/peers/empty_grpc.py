"""`python -m benchmarks.peers.empty_grpc PORT KIND`: grpcio, as threads or asyncio, with empty answers."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc

_THREADS = 8


class _EmptyAnswers(grpc.GenericRpcHandler):
    def __init__(self, answer: Any) -> None:
        self._handler = grpc.unary_unary_rpc_method_handler(answer)

    def service(self, handler_call_details: Any) -> Any:
        return self._handler


async def _answer_async(request: bytes, context: Any) -> bytes:
    return b""


def _answer(request: bytes, context: Any) -> bytes:
    return b""


async def _serve_async(address: str) -> None:
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((_EmptyAnswers(_answer_async),))
    server.add_insecure_port(address)
    await server.start()
    await server.wait_for_termination()


def _serve(address: str) -> None:
    server = grpc.server(ThreadPoolExecutor(_THREADS))
    server.add_generic_rpc_handlers((_EmptyAnswers(_answer),))
    server.add_insecure_port(address)
    server.start()
    server.wait_for_termination()


if __name__ == "__main__":
    address = f"127.0.0.1:{sys.argv[1]}"
    if sys.argv[2] == "asyncio":
        import uvloop

        uvloop.run(_serve_async(address))
    else:
        _serve(address)
