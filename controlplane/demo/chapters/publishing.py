"""Two data planes, three documents of teams, and a task type that two teams claim."""

from __future__ import annotations

from controlplane.demo.cast import COMMERCE, JOBS, PLATFORM, RISK, Cast

DATA_PLANES = {"production-eu": 0, "production-us": 1}
# Team, document, agent, task types. The first to publish a task type keeps it.
_DOCUMENTS = (
    ("risk", "scoring", "risk-scorer", ("risk_score", "feature_lookup")),
    ("commerce", "connectors", "feature-store", ("feature_lookup", "embedding_batch")),
    ("commerce", "search", "search-indexer", ("index_build",)),
)


_PUBLISHERS = {"risk": RISK, "commerce": COMMERCE}


def tell(cast: Cast) -> None:
    for team, publisher in _PUBLISHERS.items():
        cast.act(PLATFORM, "PUT", f"agent-config-teams/{team}", {"publishers": [publisher]})
    for name, stage in DATA_PLANES.items():
        plane = {"release": "1.16.0", "stage": stage, "principal": JOBS}
        cast.act(PLATFORM, "PUT", f"data-planes/{name}", plane, If_None_Match="*")
        acknowledge(cast, name)
    for document in _DOCUMENTS:
        _publish(cast, *document)
        for name in DATA_PLANES:
            acknowledge(cast, name)


def acknowledge(cast: Cast, name: str) -> None:
    """Report the active revision of a data plane as applied, as its cluster would."""
    plane = cast.act(JOBS, "GET", f"data-planes/{name}")
    if plane["applied_revision"] < plane["active_revision"]:
        report = {"revision": plane["active_revision"], "status": "APPLIED"}
        cast.act(JOBS, "POST", f"data-planes/{name}/acks", report)


def _publish(cast: Cast, team: str, name: str, agent: str, task_types: tuple[str, ...]) -> None:
    lines = [
        "plugins:",
        "  agent-service:",
        "    agents:",
        f"      {agent}:",
        f"        endpoint: {agent}.{team}.svc.cluster.local:8000",
        "        defaultTimeout: 10s",
        "        insecure: true",
        "    supportedTaskTypes:",
        *(f"    - {task_type}" for task_type in task_types),
    ]
    path = f"agent-configs/{team}/{name}"
    cast.act(_PUBLISHERS[team], "PUT", path, {"text": "\n".join(lines) + "\n"}, If_None_Match="*")
