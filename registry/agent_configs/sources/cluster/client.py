"""A cluster through the official client. That is an extra and slow to import: only here, and late."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any

from controlplane.extras import is_installed, missing
from registry.agent_configs.sources.cluster.backoff import Pace
from registry.agent_configs.sources.cluster.objects import Expired, Garbled
from registry.agent_configs.sources.cluster.protocol import EVERYWHERE, ClusterError

_EVENTS = "/apis/events.k8s.io/v1"
_PAGE = 500
_GONE = 410
# Of an answer that refuses; more says nothing more.
_MOST_OF_A_REFUSAL = 10_000
_LONGEST_LIST = 256 << 20
# A server ends a watch in time. One that hangs without a word is given up a little later.
_SILENCE = 15.0
_CHUNK = 1 << 16


class KubernetesCluster:
    """kubeconfig: a file; empty within a cluster. Raises ClusterError if it cannot be told where it is."""

    def __init__(self, kubeconfig: str, *, selector: str = "", pace: Pace | None = None) -> None:
        self.selector = selector
        self.pace = pace or Pace()
        self._api = _connected(kubeconfig)

    def list_page(self, namespace: str, *, more: str) -> Any:
        query = {"limit": str(_PAGE), **({"continue": more} if more else {}), **self._selected()}
        with self._called("GET", _path(namespace), query=query) as response:
            body = _read(response, _LONGEST_LIST)
        try:
            return json.loads(body)
        except ValueError as error:
            raise Garbled("A list is no JSON.") from error

    @contextmanager
    def watch(self, namespace: str, version: str) -> Iterator[Iterator[bytes]]:
        """Watchers that began together must not end together."""
        seconds = self.pace.watch * (1 + random.random() / 4)  # noqa: S311  (jitter)
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": version,
            "timeoutSeconds": str(max(1, round(seconds))),
            **self._selected(),
        }
        silence = seconds + _SILENCE
        with self._called("GET", _path(namespace), query=query, silence=silence) as response:
            yield _chunks(response)

    def create_event(self, namespace: str, event: Mapping[str, Any]) -> None:
        with self._called("POST", f"{_EVENTS}/namespaces/{namespace}/events", body=event):
            return

    def patch_event(self, namespace: str, name: str, patch: Mapping[str, Any]) -> None:
        with self._called("PATCH", f"{_EVENTS}/namespaces/{namespace}/events/{name}", body=patch):
            return

    def _selected(self) -> dict[str, str]:
        return {"labelSelector": self.selector} if self.selector else {}

    @contextmanager
    def _called(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        silence: float | None = None,
    ) -> Iterator[Any]:
        """The answer, whose body is not read yet. Raises Expired, ClusterError."""
        from kubernetes.client import ApiException
        from urllib3.exceptions import HTTPError

        try:
            response = self._sent(method, path, query, body, silence or self.pace.answer)
        except (ApiException, HTTPError, OSError, ValueError) as error:
            raise ClusterError(_why(error)) from error
        try:
            if response.status >= 400:
                raise _refusal(response)
            yield response
        except (HTTPError, OSError) as error:
            raise ClusterError(_why(error)) from error
        finally:
            # Not back to the pool: of a watch there may be more to come.
            with suppress(HTTPError, OSError):
                response.close()

    def _sent(
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
        timeout = (self.pace.connect, silence)
        return self._api.call_api(*serialized, _request_timeout=timeout).response


def _connected(kubeconfig: str) -> Any:
    if not is_installed("kubernetes"):
        raise ClusterError(missing("kubernetes"))
    client: Any = import_module("kubernetes.client")
    config: Any = import_module("kubernetes.config")
    configuration = client.Configuration()
    # Whoever asks decides how often.
    configuration.retries = False
    configuration.keep_alive = True
    try:
        if kubeconfig:
            config.load_kube_config(config_file=kubeconfig, client_configuration=configuration)
        else:
            config.load_incluster_config(client_configuration=configuration)
    except (config.ConfigException, OSError) as error:
        raise ClusterError(f"It is not known where the cluster is: {_why(error)}") from error
    return client.ApiClient(configuration)


def _path(namespace: str) -> str:
    where = "" if namespace == EVERYWHERE else f"/namespaces/{namespace}"
    return f"/api/v1{where}/configmaps"


def _chunks(response: Any) -> Iterator[bytes]:
    """What has come, as soon as it comes."""
    while chunk := response.read1(_CHUNK):
        yield chunk


def _read(response: Any, most: int) -> bytes:
    """The whole body. Raises ClusterError if it is longer than anybody could want."""
    parts, size = [], 0
    while part := response.read(_CHUNK):
        parts.append(part)
        size += len(part)
        if size > most:
            raise ClusterError("The answer is too long.")
    return b"".join(parts)


def _refusal(response: Any) -> Exception:
    try:
        said = json.loads(response.read(_MOST_OF_A_REFUSAL))
        message = str(said.get("message") or said.get("reason") or response.reason)
    except (ValueError, AttributeError):
        message = str(response.reason)
    if response.status == _GONE:
        return Expired(message[:300])
    asked = response.headers.get("Retry-After", "")
    return ClusterError(
        f"the API server answered {response.status}: {message[:300]}",
        status=response.status,
        asked=float(asked) if asked.isdecimal() else 0.0,
    )


def _why(error: BaseException) -> str:
    """Without what only a debugger wants to know."""
    text = str(getattr(error, "reason", "") or error)
    return f"the API server cannot be reached: {type(error).__name__}: {text[:300]}"
