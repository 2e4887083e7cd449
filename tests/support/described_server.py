"""A server that answers as openapi.yaml shows, and refuses what openapi.yaml does not describe."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import yaml
from jsonschema import Draft202012Validator

from tests.support.openapi import openapi_document

DOCUMENT: dict[str, Any] = openapi_document()
OPERATIONS = {
    operation["operationId"]: (method.upper(), path, operation)
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
}
JSON, YAML = "application/json", "application/yaml"
# What the examples do not show, and somebody must decide about.
WAITING = {
    "overrides_source": {
        "pending": {"digest": "5891b5b522d5", "removals": 9, "stored": 10, "addresses": ["task_resource"]}
    },
    "plugin_config_validate": {
        "valid": True,
        "document": {"plugins": {"plugins": [{"output": "bq2bq", "enabled": True}]}},
        "diagnostics": [],
    },
    "data_planes_get": {"held_digest": "5891b5b522d5", "held_changes": ["- agent acme-sensor"]},
}


class DescribedServer(ThreadingHTTPServer):
    """asked: the operations that were. wrong: what was asked, and is not described so."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.operations: set[str] = set()
        self.wrong: list[str] = []


@contextmanager
def serving() -> Iterator[DescribedServer]:
    server = DescribedServer()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def example(part: dict[str, Any], media: str) -> Any:
    return next(iter(part["content"][media]["examples"].values()))["value"]


def request_example(operation: str) -> Any:
    return example(OPERATIONS[operation][2]["requestBody"], JSON)


class _Handler(BaseHTTPRequestHandler):
    server: DescribedServer

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        url = urlsplit(self.path)
        name = _named(self.command, url.path)
        if name is None:
            self.server.wrong.append(f"nobody describes {self.command} {self.path}")
            return self.send_error(404)
        operation = OPERATIONS[name][2]
        self.server.operations.add(name)
        self.server.wrong += [
            f"{name}: {problem}" for problem in _wrong(operation, url.query, self.headers, body)
        ]
        blind = not (self.headers["If-Match"] or self.headers["If-None-Match"])
        if blind and self.command in ("PUT", "DELETE") and "428" in operation["responses"]:
            self.server.wrong.append(f"{name}: it goes over what nobody saw")
        status, content = _answer(name, operation, self.headers["Accept"])
        self.send_response(status)
        self.send_header("ETag", '"v1"')
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        return None

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

    def log_message(self, *arguments: object) -> None:
        """Nothing: the test says what matters."""


def _named(method: str, path: str) -> str | None:
    """The operation of a request: of several, the one whose path has the fewest parameters."""
    operations = [
        (template.count("{"), name)
        for name, (its_method, template, _) in OPERATIONS.items()
        if its_method == method and re.fullmatch(re.sub(r"\{\w+\}", "[^/:]+", template), unquote(path))
    ]
    return min(operations)[1] if operations else None


def _wrong(operation: dict[str, Any], query: str, headers: Any, body: bytes) -> Iterator[str]:
    parameters = operation.get("parameters", ())
    queries = {
        parameter["name"]: parameter["schema"] for parameter in parameters if parameter["in"] == "query"
    }
    for name, value in parse_qsl(query):
        if name not in queries:
            yield f"there is no parameter {name}"
        elif "enum" in (schema := _resolved(queries[name])) and value not in schema["enum"]:
            yield f"{name} is never {value}"
    content = operation.get("requestBody", {}).get("content", {})
    if body and headers["Content-Type"] not in content:
        yield f"it takes no {headers['Content-Type']}"
    elif body and headers["Content-Type"] == JSON:
        schema, document = content[JSON]["schema"], json.loads(body)
        yield from (misfit.message for misfit in _misfits(schema, document))
        yield from (
            f"there is no field {name}" for name in set(document) - set(_resolved(schema)["properties"])
        )
    elif not body and operation.get("requestBody", {}).get("required"):
        yield "it wants a body"


def _answer(name: str, operation: dict[str, Any], accept: str) -> tuple[int, bytes]:
    status, answer = next(
        (status, response) for status, response in operation["responses"].items() if status[0] == "2"
    )
    if "content" not in answer:
        return int(status), b""
    media = accept if accept in answer["content"] else JSON
    shown_example = example(answer, media)
    if name in WAITING:
        shown_example = {**shown_example, **WAITING[name]}
        assert not list(_misfits(answer["content"][media]["schema"], shown_example))
    if media != JSON:
        return int(status), (
            shown_example if isinstance(shown_example, str) else yaml.safe_dump(shown_example)
        ).encode()
    return int(status), json.dumps(shown_example).encode()


def _misfits(schema: dict[str, Any], value: Any) -> Iterator[Any]:
    whole: dict[str, Any] = {**schema, "components": DOCUMENT["components"]}
    return Draft202012Validator(whole).iter_errors(value)


def _resolved(schema: dict[str, Any]) -> Any:
    parts = [schema, *schema.get("allOf", ())]
    reference = next((part["$ref"] for part in parts if "$ref" in part), "")
    return DOCUMENT["components"]["schemas"][reference.rpartition("/")[2]] if reference else schema
