"""A service provider whose resources are objects of a Kubernetes cluster.

It is listed in the agent's providers file only while the API server offers its kind, so that the agent never
offers what its cluster cannot do. In a pod, it uses the service account of the pod.
"""

from __future__ import annotations

import json
import logging
import os
import ssl
import threading
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from provider_http import Reply, make_server, refusal

_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_NEEDED = frozenset({"create", "get", "delete"})
log = logging.getLogger("provider")


class Unreachable(Exception):
    """The API server did not answer."""


@dataclass(frozen=True)
class Cluster:
    """folder: with the files token, ca.crt and namespace, which are replaced while the pod runs."""

    url: str
    folder: Path = _ACCOUNT

    def call(self, method: str, path: str, body: Any = None) -> tuple[int, dict[str, Any]]:
        request = urllib.request.Request(  # noqa: S310  (the address of the API server)
            self.url + path,
            None if body is None else json.dumps(body).encode(),
            {"Authorization": f"Bearer {(self.folder / 'token').read_text().strip()}"},
            method=method,
        )
        request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=10, context=self._tls()) as answer:  # noqa: S310  (as above)
                return answer.status, json.loads(answer.read() or b"{}")
        except urllib.error.HTTPError as error:
            with error:
                return error.code, _as_object(error.read(1 << 16))
        except (OSError, ValueError) as error:
            raise Unreachable(str(error)) from error

    @property
    def namespace(self) -> str:
        return (self.folder / "namespace").read_text().strip()

    def _tls(self) -> ssl.SSLContext | None:
        if not self.url.startswith("https:"):
            return None
        return ssl.create_default_context(cafile=str(self.folder / "ca.crt"))


@dataclass(frozen=True)
class Kind:
    """Such as group_version "batch/v1", plural "jobs", name "Job"."""

    group_version: str
    plural: str
    name: str

    @property
    def root(self) -> str:
        return f"/apis/{self.group_version}" if "/" in self.group_version else f"/api/{self.group_version}"

    def is_offered(self, cluster: Cluster) -> bool:
        """True if discovery lists the kind with the verbs that we need. Raises Unreachable."""
        status, found = cluster.call("GET", self.root)
        if status == 404:
            return False
        if status != 200:
            raise Unreachable(f"discovery answered {status}")
        verbs = [
            set(one.get("verbs", ())) for one in found.get("resources", ()) if one["name"] == self.plural
        ]
        return bool(verbs) and verbs[0] >= _NEEDED


class Objects:
    """The spec of a resource is the object's `spec`; the object is named like the resource."""

    def __init__(self, cluster: Cluster, kind: Kind) -> None:
        self.cluster, self.kind = cluster, kind

    def create(self, resource_id: str, spec: dict[str, Any]) -> Reply:
        document = {
            "apiVersion": self.kind.group_version,
            "kind": self.kind.name,
            "metadata": {
                "name": resource_id,
                "labels": {"app.kubernetes.io/managed-by": "controlplane-agent"},
            },
            "spec": spec,
        }
        status, body = self._call("POST", "", document)
        if status == 409:
            return self.read(resource_id)
        return Reply(201, describe(body)) if status in (200, 201) else _refusal(status, body)

    def read(self, resource_id: str) -> Reply:
        status, body = self._call("GET", f"/{resource_id}")
        return Reply(200, describe(body)) if status == 200 else _refusal(status, body)

    def delete(self, resource_id: str) -> Reply:
        status, body = self._call("DELETE", f"/{resource_id}?propagationPolicy=Foreground")
        return Reply(202, {}) if status in (200, 202, 404) else _refusal(status, body)

    def health(self) -> Reply:
        try:
            is_offered = self.kind.is_offered(self.cluster)
        except Unreachable as error:
            return refusal(503, str(error))
        return Reply(200, {"status": "healthy" if is_offered else "unhealthy"})

    def administer(self, order: dict[str, Any]) -> Reply:
        return refusal(404, "There is no such path.")

    def _call(self, method: str, path: str, body: Any = None) -> tuple[int, dict[str, Any]]:
        where = f"{self.kind.root}/namespaces/{self.cluster.namespace}/{self.kind.plural}{path}"
        try:
            return self.cluster.call(method, where, body)
        except Unreachable as error:
            return 503, {"message": str(error)}


def describe(document: dict[str, Any]) -> dict[str, Any]:
    """Return the object as a resource. Its status follows from its conditions and its counts of pods."""
    metadata, status = document.get("metadata", {}), document.get("status", {})
    conditions = {one["type"]: one for one in status.get("conditions", ()) if one.get("status") == "True"}
    failed = conditions.get("Failed")
    is_live = bool(status.get("active") or status.get("readyReplicas") or "Complete" in conditions)
    return {
        "id": metadata.get("name", ""),
        "status": "FAILED" if failed else "RUNNING" if is_live else "PROVISIONING",
        "message": (failed or {}).get("message", ""),
        "output": {"uid": metadata.get("uid", ""), "namespace": metadata.get("namespace", "")},
    }


def list_provider(file: Path, entry: dict[str, Any], is_offered: bool) -> None:
    """Add the entry to the agent's providers file, or take it out."""
    listed = json.loads(file.read_text()) if file.exists() else []
    others = [one for one in listed if one["name"] != entry["name"]]
    wanted = [*others, entry] if is_offered else others
    if wanted != listed:
        new = file.with_suffix(".new")
        new.write_text(json.dumps(wanted))
        new.replace(file)


def keep_listed(
    file: Path, entry: dict[str, Any], objects: Objects, stopping: threading.Event, seconds: float = 30.0
) -> None:
    """List the provider while its kind is offered. An API server that does not answer changes nothing."""
    while not stopping.is_set():
        try:
            list_provider(file, entry, objects.kind.is_offered(objects.cluster))
        except (Unreachable, OSError, ValueError) as error:
            log.warning("cannot check what the cluster offers: %s", error)
        stopping.wait(seconds)


def _refusal(status: int, body: dict[str, Any]) -> Reply:
    return refusal(status, str(body.get("message", "The API server refused.")))


def _as_object(raw: bytes) -> dict[str, Any]:
    try:
        return dict(json.loads(raw))
    except (ValueError, TypeError):
        return {}


def main() -> None:
    logging.basicConfig(level=logging.INFO)
    settings = os.environ
    host, port = settings["KUBERNETES_SERVICE_HOST"], settings["KUBERNETES_SERVICE_PORT"]
    kind = Kind(
        settings.get("KUBERNETES_GROUP_VERSION", "batch/v1"),
        settings.get("KUBERNETES_PLURAL", "jobs"),
        settings.get("KUBERNETES_KIND", "Job"),
    )
    objects = Objects(Cluster(f"https://{host}:{port}"), kind)
    provider_port = int(settings.get("PROVIDER_PORT", "8093"))
    entry = {
        "name": f"kubernetes-{kind.plural}",
        "endpoint": f"http://127.0.0.1:{provider_port}",
        "service_type": settings.get("SERVICE_TYPE", "job"),
        "schema_version": "v1",
    }
    file = Path(settings["AGENT_PROVIDERS_FILE"])
    arguments = (file, entry, objects, threading.Event())
    threading.Thread(target=keep_listed, args=arguments, daemon=True).start()
    make_server(objects, provider_port).serve_forever()


if __name__ == "__main__":
    main()
