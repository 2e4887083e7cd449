"""What our HTTP protocol relies on in uvicorn, which promises none of it: a changed attribute fails here."""

from __future__ import annotations

import ast
import inspect
import textwrap
from typing import Any

import pytest
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import Server, ServerState

from controlplane.web.fast_protocol import FastProtocol
from controlplane.web.protocol_exchange import ProtocolExchange

# The attributes of the cycle of a connection that uvicorn's protocol uses: ProtocolExchange stands in for it.
OF_CYCLES = {"body", "disconnected", "keep_alive", "message_event", "more_body", "response_complete"}
ATTRIBUTES = {
    HttpToolsProtocol: {
        *("app_state", "asgi_version", "client", "config", "connections", "cycle", "expect_100_continue"),
        *("flow", "headers", "loop", "parser", "pipeline", "root_path", "scheme", "scope", "server"),
        *("server_state", "tasks", "transport", "url"),
    },
    RequestResponseCycle: {
        *OF_CYCLES,
        *("on_response", "response_started", "waiting_for_100_continue", "flow", "transport", "scope"),
    },
    FlowControl: {"read_paused", "write_paused"},
    ServerState: {"connections", "default_headers", "tasks", "total_requests"},
    Server: {"config", "server_state", "should_exit", "started"},
}
OVERRIDDEN = (
    *("connection_made", "connection_lost", "data_received", "on_message_begin", "on_headers_complete"),
    *("on_body", "on_message_complete", "on_response_complete", "_start_asgi_task"),
)


def attributes_of(code: Any, owner: str) -> set[str]:
    """Return the attributes of `owner` (such as `self.cycle`) that the source of `code` names."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(code)))
    return {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == owner
    }


@pytest.mark.parametrize("kind", ATTRIBUTES, ids=lambda kind: kind.__name__)
def test_attributes_are_where_they_were(kind):
    assert attributes_of(kind, "self") >= ATTRIBUTES[kind]


def test_an_exchange_has_all_that_uvicorn_asks_of_a_cycle():
    asked = attributes_of(HttpToolsProtocol, "self.cycle")

    assert asked == OF_CYCLES
    assert all(hasattr(ProtocolExchange, name) for name in asked)


@pytest.mark.parametrize("name", OVERRIDDEN)
def test_methods_that_we_override_have_the_same_parameters(name):
    ours, theirs = (inspect.signature(getattr(kind, name)) for kind in (FastProtocol, HttpToolsProtocol))

    assert name in vars(HttpToolsProtocol)
    assert list(ours.parameters) == list(theirs.parameters)


def test_a_cycle_is_made_of_what_we_give_it():
    assert list(inspect.signature(RequestResponseCycle).parameters) == [
        *("scope", "transport", "flow", "logger", "access_logger", "access_log", "default_headers"),
        *("message_event", "expect_100_continue", "keep_alive", "on_response"),
    ]
