"""Access a cluster through the official client, an extra that is imported late because it is slow."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any

from controlplane.extras import is_installed, missing
from registry.agent_configs.sources.cluster.backoff import WatchTiming
from registry.agent_configs.sources.cluster.objects import MalformedResponse, VersionExpired
from registry.agent_configs.sources.cluster.protocol import EVERYWHERE, ClusterError

_EVENTS = "/apis/events.k8s.io/v1"
_PAGE = 500
_GONE = 410
# Of an error response.
_MAX_ERROR_BYTES = 10_000
_MAX_LIST_BYTES = 256 << 20
# A server ends a watch in time. A silent one is abandoned a little later.
_SILENCE = 15.0
_CHUNK = 1 << 16


class KubernetesCluster:
    """A Kubernetes cluster. kubeconfig: a file, or empty inside the cluster. Raises ClusterError."""

    def __init__(self, kubeconfig: str, *, selector: str = "", timing: WatchTiming | None = None) -> None:
        self.selector = selector
        self.timing = timing or WatchTiming()
        self._api = _connect(kubeconfig)

    def list_page(self, namespace: str, *, more: str) -> Any:
        query = {"limit": str(_PAGE), **({"continue": more} if more else {}), **self._selected()}
        with self._request("GET", _build_path(namespace), query=query) as response:
            body = _read_body(response, _MAX_LIST_BYTES)
        try:
            return json.loads(body)
        except ValueError as error:
            raise MalformedResponse("The list is not valid JSON.") from error

    @contextmanager
    def watch(self, namespace: str, version: str) -> Iterator[Iterator[bytes]]:
        """Open a watch of random length, so that watches that start together do not end together."""
        seconds = self.timing.watch_seconds * (1 + random.random() / 4)  # noqa: S311  (jitter)
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": version,
            "timeoutSeconds": str(max(1, round(seconds))),
            **self._selected(),
        }
        silence = seconds + _SILENCE
        with self._request("GET", _build_path(namespace), query=query, silence=silence) as response:
            yield _read_chunks(response)

    def create_event(self, namespace: str, event: Mapping[str, Any]) -> None:
        with self._request("POST", f"{_EVENTS}/namespaces/{namespace}/events", body=event):
            return

    def patch_event(self, namespace: str, name: str, patch: Mapping[str, Any]) -> None:
        with self._request("PATCH", f"{_EVENTS}/namespaces/{namespace}/events/{name}", body=patch):
            return

    def _selected(self) -> dict[str, str]:
        return {"labelSelector": self.selector} if self.selector else {}

    @contextmanager
    def _request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        silence: float | None = None,
    ) -> Iterator[Any]:
        """Yield the response with its body unread. Raises VersionExpired, ClusterError."""
        from kubernetes.client import ApiException
        from urllib3.exceptions import HTTPError

        try:
            response = self._send(method, path, query, body, silence or self.timing.response_timeout)
        except (ApiException, HTTPError, OSError, ValueError) as error:
            raise ClusterError(_describe_error(error)) from error
        try:
            if response.status >= 400:
                raise _build_error(response)
            yield response
        except (HTTPError, OSError) as error:
            raise ClusterError(_describe_error(error)) from error
        finally:
            # Do not return the connection to the pool: a watch may still send data.
            with suppress(HTTPError, OSError):
                response.close()

    def _send(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None,
        body: Mapping[str, Any] | None,
        silence: float,
    ) -> Any:
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        serialized = self._api.param_serialize(
            method=method,
            resource_path=path,
            query_params=list((query or {}).items()),
            header_params={"Accept": "application/json", "Content-Type": kind},
            body=dict(body) if body else None,
            auth_settings=["BearerToken"],
        )
        timeout = (self.timing.connect_timeout, silence)
        return self._api.call_api(*serialized, _request_timeout=timeout).response


def _connect(kubeconfig: str) -> Any:
    if not is_installed("kubernetes"):
        raise ClusterError(missing("kubernetes"))
    client: Any = import_module("kubernetes.client")
    config: Any = import_module("kubernetes.config")
    configuration = client.Configuration()
    # The caller decides about retries.
    configuration.retries = False
    configuration.keep_alive = True
    try:
        if kubeconfig:
            config.load_kube_config(config_file=kubeconfig, client_configuration=configuration)
        else:
            config.load_incluster_config(client_configuration=configuration)
    except (config.ConfigException, OSError) as error:
        raise ClusterError(f"The cluster's address is unknown: {_describe_error(error)}") from error
    return client.ApiClient(configuration)


def _build_path(namespace: str) -> str:
    where = "" if namespace == EVERYWHERE else f"/namespaces/{namespace}"
    return f"/api/v1{where}/configmaps"


def _read_chunks(response: Any) -> Iterator[bytes]:
    """Yield data as soon as it arrives."""
    while chunk := response.read1(_CHUNK):
        yield chunk


def _read_body(response: Any, most: int) -> bytes:
    """Read the whole body. Raises ClusterError if it is too long."""
    parts, size = [], 0
    while part := response.read(_CHUNK):
        parts.append(part)
        size += len(part)
        if size > most:
            raise ClusterError("The response is too long.")
    return b"".join(parts)


def _build_error(response: Any) -> Exception:
    try:
        body = json.loads(response.read(_MAX_ERROR_BYTES))
        message = str(body.get("message") or body.get("reason") or response.reason)
    except (ValueError, AttributeError):
        message = str(response.reason)
    if response.status == _GONE:
        return VersionExpired(message[:300])
    retry_after = response.headers.get("Retry-After", "")
    return ClusterError(
        f"the API server responded with {response.status}: {message[:300]}",
        status=response.status,
        retry_after=float(retry_after) if retry_after.isdecimal() else 0.0,
    )


def _describe_error(error: BaseException) -> str:
    """Describe an error without internal details."""
    text = str(getattr(error, "reason", "") or error)
    return f"the API server cannot be reached: {type(error).__name__}: {text[:300]}"
