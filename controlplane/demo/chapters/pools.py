"""Pools with holders and with requests that wait; the waiting is repeated by the running demo."""

from __future__ import annotations

from typing import Any

from controlplane.demo.cast import JOBS, PLATFORM, Cast

_POOLS: dict[str, dict[str, Any]] = {
    "gpu-a100": {
        "capacity": 8,
        "unit": "GPU",
        "title": "A100 of the training cluster",
        "max_hold_seconds": 0,
    },
    "warehouse-connections": {
        "capacity": 40,
        "unit": "connection",
        "title": "Connections to the warehouse",
        "max_hold_seconds": 0,
    },
}
# Pool, token, project, units.
_HOLDERS = (
    ("gpu-a100", "train-demand-v7", "forecasting", 4),
    ("gpu-a100", "rank-products", "storefront", 3),
    ("gpu-a100", "score-backfill", "fraud-detection", 1),
    ("warehouse-connections", "nightly-export", "storefront", 12),
    ("warehouse-connections", "features", "fraud-detection", 9),
)
_WAITING = (
    ("gpu-a100", "train-demand-v8", "forecasting", 2),
    ("gpu-a100", "train-embeddings", "storefront", 1),
    ("gpu-a100", "score-experiment", "fraud-detection", 4),
)


def tell(cast: Cast) -> None:
    for name, terms in _POOLS.items():
        cast.act(PLATFORM, "PUT", f"pools/{name}", terms, If_None_Match="*")
    limit = {"cap": 6, "guaranteed": 1, "weight": 200}
    cast.act(PLATFORM, "PUT", "pools/gpu-a100/limits?project=forecasting", limit, If_Match='"v1"')
    for pool, token, project, units in _HOLDERS:
        _ask(cast, pool, {**_work(token, project, units), "lease_seconds": 0})
    wait_in_queue(cast)


def wait_in_queue(cast: Cast) -> None:
    """Queue, or keep the places in the queue. Repeat it within 60 seconds."""
    for pool, token, project, units in _WAITING:
        _ask(cast, pool, {**_work(token, project, units), "queue": True})


def _ask(cast: Cast, pool: str, body: dict[str, Any]) -> None:
    cast.act(JOBS, "POST", f"pools/{pool}/leases", body)


def _work(token: str, project: str, units: int) -> dict[str, Any]:
    return {"token": token, "scope": {"project": project, "domain": "production"}, "units": units}
