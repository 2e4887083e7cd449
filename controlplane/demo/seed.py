"""Demo data: three projects, overrides on every level, six agents. Used by docs, screenshots and tests.

The task resources and execution config of flytesnacks are the example in RFC 3749.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models.functions import Now

from controlplane.access import principals, role_bindings
from controlplane.access.models import Principal, PrincipalKind
from controlplane.errors import NameTaken
from controlplane.identity.actors import Actor
from controlplane.identity.roles import Role
from controlplane.scopes import Scope
from overrides.editing.writes import put_override
from overrides.models import Override, Project
from overrides.projects import ProjectFields, create_project
from overrides.resolution.addresses import Address
from overrides.write_mode import reads_files
from registry.agents.models import Agent, Lease
from registry.agents.policies import liveness_policy
from registry.agents.rights import AgentRights
from registry.agents.states import Cost
from registry.joining.register import register
from registry.joining.registration import Registration

AGENTS_PRINCIPAL = "demo-agents"
DEMO_ACTOR = Actor(None, "system:demo", reason="Demo data.")

_PROJECTS = {
    "flytesnacks": "Example workflows.",
    "recommender": "Trains and serves recommendations.",
    "billing": "Nightly invoices.",
}

_OVERRIDES: list[tuple[str, Scope, dict[str, Any]]] = [
    (
        "task_resource",
        Scope(),
        {"defaults": {"cpu": "500m", "memory": "200Mi"}, "limits": {"cpu": "2", "memory": "1Gi"}},
    ),
    ("workflow_execution_config", Scope(), {"max_parallelism": 25, "interruptible": False}),
    ("quality_of_service_specification", Scope(), {"tier": "MEDIUM"}),
    (
        "workflow_execution_config",
        Scope(domain="development"),
        {"interruptible": True, "envs": {"values": [{"key": "LOG_LEVEL", "value": "debug"}]}},
    ),
    ("execution_cluster_label", Scope(domain="production"), {"value": "production-eu"}),
    (
        "cluster_resource",
        Scope(project="flytesnacks"),
        {"attributes": {"projectQuotaCpu": "100", "projectQuotaMemory": "500Gi"}},
    ),
    (
        "plugin_override",
        Scope(project="recommender"),
        {
            "overrides": [
                {"task_type": "spark", "plugin_id": ["spark-on-k8s"], "missing_plugin_behavior": "FAIL"}
            ]
        },
    ),
    (
        "workflow_execution_config",
        Scope(project="flytesnacks", domain="development"),
        {
            "labels": {"values": {"my-key": "my-value"}},
            "security_context": {"run_as": {"iam_role": "my_iam_role"}},
        },
    ),
    (
        "cluster_resource",
        Scope(project="flytesnacks", domain="development"),
        {"attributes": {"projectQuotaCpu": "1000", "projectQuotaMemory": "5Ti"}},
    ),
    ("execution_queue", Scope(project="billing", domain="production"), {"tags": ["critical"]}),
    (
        "task_resource",
        Scope(project="flytesnacks", domain="development", workflow="MyExampleWorkflow"),
        {"defaults": {"cpu": "1", "memory": "500Mi"}, "limits": {"cpu": "3", "memory": "2Gi", "gpu": "4"}},
    ),
    (
        "workflow_execution_config",
        Scope(
            project="flytesnacks", domain="development", workflow="MyExampleWorkflow", launch_plan="nightly"
        ),
        {"max_parallelism": 5, "interruptible": None},
    ),
]

# Name, environment, service types, cost, seconds since the last heartbeat.
_AGENTS: list[tuple[str, str, tuple[str, ...], Cost, int]] = [
    ("dev-laptop-1", "development", ("container",), Cost.LOW, 2),
    ("prod-eu-1", "production-eu", ("vm", "container", "cluster"), Cost.HIGH, 5),
    ("prod-eu-2", "production-eu", ("vm", "container"), Cost.MEDIUM_HIGH, 12),
    ("prod-us-1", "production-us", ("container", "cluster"), Cost.MEDIUM, 20),
    ("staging-late", "staging", ("container",), Cost.MEDIUM_LOW, 60),
    ("edge-silent", "edge", ("vm",), Cost.LOW, 600),
]


@transaction.atomic
def seed() -> bool:
    """Load the demo data. Return False if they already exist."""
    try:
        with transaction.atomic():
            for project, description in _PROJECTS.items():
                create_project(project, ProjectFields(description=description), actor=DEMO_ACTOR)
    except NameTaken:
        return False
    for resource_type, scope, attributes in [] if reads_files() else _OVERRIDES:
        put_override(Address(resource_type, scope), attributes, actor=DEMO_ACTOR)
    principal = principals.create_principal(AGENTS_PRINCIPAL, kind=PrincipalKind.AGENT, actor=DEMO_ACTOR)
    role_bindings.bind_role(principal, Role.AGENT, Scope(), actor=DEMO_ACTOR)
    _seed_agents(principal)
    return True


def is_empty() -> bool:
    """Return whether nobody has put anything into this installation yet."""
    return not any(model.objects.exists() for model in (Project, Override, Agent))


def _seed_agents(principal: Principal) -> None:
    actor = Actor(principal.id, principal.name)
    policy = liveness_policy()
    for name, environment, service_types, cost, silent in _AGENTS:
        registration = Registration(name, environment, service_types, cost, f"dcm.agent.{name}", None)
        agent, _ = register(registration, actor=actor, rights=AgentRights(principal.id), policy=policy)
        last_heartbeat = Now() - timedelta(seconds=silent)
        Lease.objects.filter(agent=agent).update(
            renewed_at=last_heartbeat, expires_at=last_heartbeat + policy.lease
        )
