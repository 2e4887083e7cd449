"""OpenAPI examples of plugin configurations, releases and plugins."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiExample

_WHEN = "2026-11-24T09:30:00Z"
_ID = "019ab4c1-2000-7000-8000-000000000001"
_SHA256 = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"
_TEXT = """plugins:
  providers:
    - type: url
      name: internal
      url: https://plugins.example.com
  plugins:
    - provider: internal
      output: bq2bq
      path: bq2bq.tar.gz
      checksum: sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae
      config: {executor_image: "registry.example.com/bq2bq:1.4.2"}
"""
_DOCUMENT: dict[str, Any] = {
    "plugins": {
        "install_location": ".plugins",
        "providers": [
            {
                "name": "internal",
                "type": "url",
                "url": "https://plugins.example.com",
                "auth": {"type": "none"},
            }
        ],
        "plugins": [
            {
                "provider": "internal",
                "output": "bq2bq",
                "path": "bq2bq.tar.gz",
                "config": {"executor_image": "registry.example.com/bq2bq:1.4.2"},
                "enabled": True,
                "checksum": f"sha256:{_SHA256}",
            }
        ],
    }
}
_CONFIG: dict[str, Any] = {
    "team": None,
    "version": 3,
    "digest": "5df6e0e2761359d30a8275058e299fcc0381534545f55cf43e41983f5d4c9456",
    "origin": "api",
    "document": _DOCUMENT,
    "message": "executor 1.4.2",
    "changed_at": _WHEN,
    "changed_by": "ada",
}
_SOURCE: dict[str, Any] = {
    "origin": "folder",
    "state": "failing",
    "path": "/etc/controlplane/plugins",
    "reader": "web-1",
    "read_at": _WHEN,
    "loaded_at": _WHEN,
    "problems": [
        {
            "file": "platform.yaml",
            "team": None,
            "code": "unknown_provider",
            "path": "/plugins/plugins/0/provider",
            "message": "There is no provider 'internel'.",
            "hint": "Did you mean internal?",
            "line": 7,
            "column": 17,
        }
    ],
}
_SECRET: dict[str, Any] = {
    "name": "internal-token",
    "team": None,
    "version": 1,
    "changed_at": _WHEN,
    "changed_by": "ada",
}
_PLUGIN: dict[str, Any] = {
    "name": "bq2bq",
    "team": None,
    "provider": "internal",
    "version": "1.4.2",
    "state": "active",
    "problem": "",
    "sha256": _SHA256,
    "size": 18_431,
    "config": {"executor_image": "registry.example.com/bq2bq:1.4.2"},
    "url": "https://plugins.example.com/bq2bq.tar.gz",
    "image": "registry.example.com/bq2bq:1.4.2",
    "nodes_ready": 1,
    "nodes_live": 1,
    "jobs": 12,
    "release_id": _ID,
    "release_number": 7,
}
_SUMMARY: dict[str, Any] = {
    "id": _ID,
    "number": 7,
    "team": None,
    "state": "active",
    "config_version": 3,
    "lock_revision": 0,
    "downloaded": 18_431,
    "activate": "automatic",
    "min_active": None,
    "message": "executor 1.4.2",
    "waiting_for": "",
    "created_at": _WHEN,
    "created_by": "ada",
    "ready_at": _WHEN,
    "activated_at": _WHEN,
    "activated_by": "system:plugin-installer",
}
_RELEASE: dict[str, Any] = {
    **_SUMMARY,
    "plugins": [
        {
            "name": "bq2bq",
            "provider": "internal",
            "change": "downloaded",
            "state": "active",
            "version": "1.4.2",
            "sha256": _SHA256,
            "size": 18_431,
            "problem": "",
        }
    ],
    "removed": [],
    "nodes": [
        {
            "name": "web-1",
            "state": "active",
            "lock_revision": 0,
            "message": "",
            "live": True,
            "reported_at": _WHEN,
        }
    ],
    "nodes_ready": 1,
    "nodes_required": 1,
}
_NODE: dict[str, Any] = {
    "name": "web-1",
    "server_version": "0.1.0",
    "live": True,
    "seen_at": _WHEN,
    "joined_at": _WHEN,
}
_LOCK: dict[str, Any] = {
    "lockVersion": 1,
    "generatedBy": "controlplane 0.1.0",
    "configHash": _CONFIG["digest"],
    "plugins": [
        {
            "name": "bq2bq",
            "version": "1.4.2",
            "provider": "internal",
            "url": "https://plugins.example.com/bq2bq.tar.gz",
            "size": 18_431,
            "sha256": _SHA256,
            "tree": "fcde2b2edba56bf408601fb721fe9b5c338d10ee429ea04fae5511b68fbf8fb9",
            "platform": "any",
            "signature": None,
            "fetchedAt": "2026-11-24T09:30:00+00:00",
            "configHash": "baa5a0964d3320fbc0c6a922140453c8513ea24ab8fd0577034804a967248096",
        }
    ],
}


def _page(item: dict[str, Any]) -> dict[str, Any]:
    return {"items": [item], "next_cursor": None}


def _answer(name: str, value: Any) -> OpenApiExample:
    return OpenApiExample(name, value=value, response_only=True)


def _body(name: str, value: Any) -> OpenApiExample:
    return OpenApiExample(name, value=value, request_only=True)


CONFIG_WRITE = _body("One plugin", {"text": _TEXT})
CONFIG = _answer("Configuration", _CONFIG)
CONFIGS = _answer("Versions", _page(_CONFIG))
SOURCE = _answer("A mistake in a file", _SOURCE)
SECRET_WRITE = _body("Token", {"value": "a-token-of-the-provider"})
SECRET = _answer("Secret", _SECRET)
SECRETS = _answer("Secrets", _page(_SECRET))
PLUGIN = _answer("Plugin", _PLUGIN)
PLUGINS = _answer("Plugins", _page(_PLUGIN))
RELEASE_WRITE = _body("By itself", {"activate": "automatic"})
RELEASE = _answer("Release", _RELEASE)
RELEASE_CREATED = OpenApiExample("Release", value=_RELEASE, response_only=True, status_codes=["201"])
RELEASES = _answer("Releases", _page(_SUMMARY))
NODES = _answer("Nodes", _page(_NODE))
LOCK = _answer("Lock", _LOCK)
