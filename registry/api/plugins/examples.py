"""Examples for openapi.yaml: the configuration and a plugin of a data team."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiExample

_SHA = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"
CONFIG = f"""\
plugins:
  providers:
  - type: url
    name: artifacts
    url: https://artifacts.example.com/plugins
  plugins:
  - provider: artifacts
    output: bq2bq
    path: bq2bq-1.4.0.tar.gz
    version: 1.4.0
    checksum: sha256:{_SHA}
    config:
      executor_image: example.com/executors/bq2bq:1.4.0
"""
SPEC = """\
version: 2
name: bq2bq
plugin_versions:
  default:
    image: example.com/executors/bq2bq
    tag: 1.4.0
    entrypoint:
      script: python3 /opt/bq2bq/main.py
"""
_MISTAKE = {
    "code": "unknown_field",
    "severity": "error",
    "path": "/plugins/plugins/0/checksums",
    "message": "Unknown field 'checksums'.",
    "hint": "Did you mean checksum?",
    "line": 11,
    "column": 5,
}
CONFIG_WRITE = OpenApiExample("A configuration", value={"text": CONFIG}, request_only=True)
CONFIG_VALIDATION = OpenApiExample(
    "A mistake",
    value={
        "valid": False,
        "diagnostics": [_MISTAKE],
        "omitted": 0,
        "document": None,
        "digest": "",
        "secrets": [],
    },
    response_only=True,
)
SPEC_WRITE = OpenApiExample("A specification", value={"text": SPEC}, request_only=True)
SPEC_VALIDATION = OpenApiExample(
    "A valid one",
    value={
        "valid": True,
        "diagnostics": [],
        "omitted": 0,
        "format": 2,
        "name": "bq2bq",
        "versions": [],
    },
    response_only=True,
)
