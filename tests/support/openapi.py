"""openapi.yaml, read once in a process: every process collects all tests, and reading it takes a second."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import yaml

from tests.support.paths import ROOT


@cache
def openapi_document() -> dict[str, Any]:
    """The document; whoever changes it takes a copy."""
    return yaml.load((ROOT / "openapi.yaml").read_text(), yaml.CSafeLoader)


def operations() -> Iterator[tuple[str, dict[str, Any]]]:
    """Method and description of every operation."""
    for methods in openapi_document()["paths"].values():
        for method, operation in methods.items():
            if "operationId" in operation:
                yield method.upper(), operation
