"""What is asked of each operation of openapi.yaml, to see what it discloses.

An operation that is missing here fails test_visibility.py: say how to ask for things of somebody else, by
list and by name. `{...}` in a path or body is filled with the name of a thing of B's, then with a name of
nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from registry.api.jobs.examples import JOB
from tests.api.access.visibility_world import (
    ACCESS,
    CONTESTED,
    FLEET,
    GROUP,
    SCOPE_A,
    SCOPE_B,
    TEAM_A,
    TEAM_B,
    config_text,
    job_text,
)
from tests.support.api_client import AGENT

BEAT = {"timestamp": "2026-11-21T09:30:00Z", "consumer_lag": 0}
_ATTRIBUTES = {"attributes": {"defaults": {"memory": "1Gi"}}}
_FLOW = "project={project}&domain=development&workflow={workflow}"
_SCOPE_A_PLACE = f"project={SCOPE_A}&domain=development&workflow={SCOPE_A}-flow"
_FLYTECTL = "project: {project}\ndefaults:\n  cpu: '1'\n"
_TYPE = {"name": "some_type", "title": "T", "meaning": "M", "schema": {"type": "object", "properties": {}}}
_PROVIDER = {"name": "p", "endpoint": "http://x:1", "service_type": "vm", "schema_version": "v1"}
_RESOURCE = {"service_type": "storage", "spec": {}}
_PLUGINS = "plugins: {providers: [], plugins: []}"
_RECEIVER = {"url": "https://127.0.0.1:9/"}
_RULE: dict[str, Any] = {"name": "r", "when": {}, "to": []}
_CHANNEL: dict[str, Any] = {"name": "c", "kind": "email", "config": {"to": ["a@example.com"]}}
_AT = "2026-11-24T02:00:00Z"
_ADMISSION = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "u"}}


@dataclass(frozen=True, slots=True)
class Ask:
    """One request. kind: of the thing that it names. shows: the markers that an administrator must see."""

    path: str
    body: Any = None
    kind: str = ""
    shows: tuple[str, ...] = ()
    headers: tuple[tuple[str, str], ...] = ()


def lists(path: str, *shows: str) -> Ask:
    """A request without a name of anybody's."""
    return Ask(path, shows=shows)


def named(path: str, kind: str, body: Any = None, shows: bool = False, **headers: str) -> Ask:
    """A request that names a thing. shows: the answer to an administrator has its marker."""
    return Ask(path, body, kind, (kind,) if shows else (), tuple(headers.items()))


def _document(project: str) -> dict[str, Any]:
    return {"apiVersion": 1, "domain": "development", "project": project, "kind": "overrides", "spec": {}}


def _rail(name: str, project: str) -> dict[str, Any]:
    place = {"name": name, "scope": {"project": project}, "resource_type": "task_resource"}
    return {**place, "pointer": "/limits/cpu", "rule": {"maximum": "32"}}


def _change(project: str) -> dict[str, Any]:
    what = {"resource_type": "workflow_execution_config", "attributes": {"max_parallelism": 4}}
    return {"scope": {"project": project}, "at": "2998-01-01T00:00:00Z", **what}


def _policy(project: str) -> dict[str, Any]:
    return {"scope": {"project": project, "domain": "development"}, "approvals": 1}


def _request(project: str) -> dict[str, Any]:
    what = {"resource_type": "workflow_execution_config", "attributes": {"max_parallelism": 4}}
    return {"scope": {"project": project}, **what}


def _freeze(project: str) -> dict[str, Any]:
    return {"scope": {"project": project}, "ends_at": "2999-01-01T00:00:00Z", "reason": "r"}


_FLOW_SCOPE = {"project": "{project}", "domain": "development", "workflow": "{workflow}"}
_LIFE = ("approve", "drain", "resume", "retire", "deregister", "rotate")
_CLAIM = {"kind": "task_type", "name": "{task}"}

TABLE: dict[str, tuple[Ask, ...]] = {
    # Agent configurations
    "agent_config_bundles_list": (
        lists("agent-config-bundles"),
        named("agent-config-bundles?data_plane={plane}", ""),
    ),
    "agent_config_bundles_get": (named("agent-config-bundles/eu/{bundle}", TEAM_B, shows=True),),
    "agent_config_bundles_diff": (named("agent-config-bundles/eu/1/diff/{bundle}", TEAM_B, shows=True),),
    "agent_config_claims_list": (
        lists("agent-config-claims", TEAM_A, TEAM_B),
        named("agent-config-claims?team={team}", TEAM_B, shows=True),
        lists(f"agent-config-claims?name={CONTESTED}", TEAM_B),
    ),
    "agent_config_claims_release": (
        named("agent-config-claims:release", TEAM_B, {"team": "{team}", **_CLAIM}),
    ),
    "agent_config_claims_transfer": (
        named("agent-config-claims:transfer", TEAM_B, {**_CLAIM, "from_team": "{team}", "to_team": TEAM_A}),
    ),
    "agent_config_claims_pin": (named("agent-config-claims:pin", TEAM_B, {**_CLAIM, "team": "{team}"}),),
    "agent_config_claims_unpin": (named("agent-config-claims:unpin", TEAM_B, _CLAIM),),
    "agent_config_pins_list": (lists("agent-config-pins", TEAM_A, TEAM_B),),
    "agent_config_clusters_list": (lists("agent-config-clusters", TEAM_B),),
    "agent_config_clusters_get": (named("agent-config-clusters/{cluster}", TEAM_B, shows=True),),
    "agent_config_clusters_put": (
        named("agent-config-clusters/{cluster}", TEAM_B, {"principal": "x", "namespaces": ["*"]}),
    ),
    "agent_config_clusters_delete": (named("agent-config-clusters/{cluster}", TEAM_B, If_Match='"v1"'),),
    "agent_config_clusters_report": (
        named("agent-config-clusters/{cluster}:report", TEAM_B, {"collector": {}, "documents": []}),
    ),
    "agent_config_clusters_admit": (named("agent-config-clusters/{cluster}:admit", TEAM_B, _ADMISSION),),
    "agent_config_conflicts_list": (
        lists("agent-config-conflicts", TEAM_A, TEAM_B),
        named("agent-config-conflicts?team={team}", TEAM_B),
    ),
    "agent_config_grants_list": (lists("agent-config-grants", TEAM_A, TEAM_B),),
    "agent_config_grants_give": (
        named("agent-config-grants", TEAM_B, {"team": "{team}", "pattern": "{task}"}, shows=True),
    ),
    "agent_config_grants_withdraw": (named("agent-config-grants/{grant}", TEAM_B),),
    "agent_config_sources_list": (lists("agent-config-sources"),),
    "agent_config_sources_confirm": (
        Ask("agent-config-sources:confirm", {"source": "folder", "digest": "0"}),
    ),
    "agent_config_teams_list": (lists("agent-config-teams", TEAM_A, TEAM_B),),
    "agent_config_teams_get": (named("agent-config-teams/{team}", TEAM_B, shows=True),),
    "agent_config_teams_put": (named("agent-config-teams/{team}", TEAM_B, {"publishers": []}),),
    "agent_config_parts_list": (
        lists("agent-config-parts", TEAM_A, TEAM_B),
        named("agent-config-parts?team={team}", TEAM_B, shows=True),
    ),
    "agent_configs_list": (
        lists("agent-configs", TEAM_A, TEAM_B),
        named("agent-configs?team={team}", TEAM_B, shows=True),
    ),
    "agent_configs_get": (
        named("agent-configs/{team}/{doc}", TEAM_B, shows=True),
        lists(f"agent-configs/{TEAM_A}/doc", TEAM_A, TEAM_B),
    ),
    "agent_configs_put": (
        named("agent-configs/{team}/{doc}", TEAM_B, {"text": config_text("other", CONTESTED)}),
        Ask(f"agent-configs/{TEAM_A}/more", {"text": config_text(TEAM_A, f"{TEAM_B}_task")}),
    ),
    "agent_configs_delete": (named("agent-configs/{team}/{doc}", TEAM_B, If_Match='"v1"'),),
    "agent_configs_admit": (Ask("agent-configs:admit", _ADMISSION),),
    "agent_configs_preview": (
        named(
            "agent-configs:preview",
            TEAM_B,
            {"items": [{"team": "{team}", "name": "{doc}", "text": None}]},
            shows=True,
        ),
        Ask(
            "agent-configs:preview",
            {"items": [{"team": TEAM_A, "name": "doc", "text": config_text(TEAM_A, CONTESTED)}]},
            shows=(TEAM_B,),
        ),
    ),
    "agent_configs_quarantine": (
        named("agent-configs:quarantine", TEAM_B, {"team": "{team}", "name": "{doc}"}, shows=True),
    ),
    "agent_configs_readmit": (named("agent-configs:readmit", TEAM_B, {"team": "{team}", "name": "{doc}"}),),
    "task_types_list": (lists("task-types?limit=200", TEAM_A, TEAM_B, FLEET),),
    "task_types_get": (
        named("task-types/{task}", TEAM_B, shows=True),
        lists(f"task-types/{CONTESTED}", TEAM_A, TEAM_B),
        # A near miss must not be completed to somebody else's name.
        lists(f"task-types/{TEAM_B[:-1]}_tas"),
    ),
    # Data planes hold what all teams publish.
    "data_planes_list": (lists("data-planes"),),
    "data_planes_get": (named("data-planes/{plane}", TEAM_B),),
    "data_planes_put": (named("data-planes/{plane}", TEAM_B, {}),),
    "data_planes_delete": (named("data-planes/{plane}", TEAM_B, If_Match='"v1"'),),
    "data_planes_config": (
        named("data-planes/{plane}/config", TEAM_B, shows=True),
        named("data-planes/{plane}/config?format=configmap", TEAM_B, shows=True),
    ),
    "data_planes_acknowledge": (
        named("data-planes/{plane}/acks", TEAM_B, {"revision": 1, "status": "APPLIED"}),
    ),
    "data_planes_approve": (named("data-planes/{plane}:approve", TEAM_B, {"digest": "0"}),),
    # Agents
    "agents_list": (lists("agents", FLEET), named("agents?environment={environment}", FLEET, shows=True)),
    "agents_summary": (lists("agents:summary", FLEET),),
    "agents_versions": (Ask("agents:versions"),),
    **{
        f"agents_bulk_{verb}": (
            # Refused with the number of agents, because the id of what is started differs each time.
            named(
                f"agents:{verb}",
                FLEET,
                {"selector": {"environment": "{environment}"}, "reason": "x", "confirm": 99_999},
            ),
        )
        for verb in ("drain", "resume", "retire", "approve")
    },
    "operations_list": (lists("operations", SCOPE_A, SCOPE_B),),
    "operations_get": (
        named("operations/agent_bulk_change.{bulk_change}", FLEET),
        named("operations/resource.{resource}", SCOPE_B, shows=True),
    ),
    "operations_cancel": (
        named("operations/agent_bulk_change.{bulk_change}:cancel", FLEET),
        named("operations/resource.{resource}:cancel", SCOPE_B, shows=True),
    ),
    "agent_bulk_changes_list": (lists("agent-bulk-changes", FLEET),),
    "agent_bulk_changes_get": (named("agent-bulk-changes/{bulk_change}", FLEET, shows=True),),
    "agent_bulk_changes_agents": (named("agent-bulk-changes/{bulk_change}/agents", FLEET, shows=True),),
    "agent_bulk_changes_cancel": (named("agent-bulk-changes/{bulk_change}:cancel", FLEET),),
    "agent_bulk_changes_undo": (named("agent-bulk-changes/{bulk_change}:undo", FLEET),),
    "agents_get": (named("agents/{agent}", FLEET, shows=True),),
    "agents_register": (Ask("agents", {**AGENT, "name": f"{FLEET}-1"}),),
    "agents_reachability": (named("agents/{agent}/reachability", FLEET),),
    "agents_remove": (named("agents/{agent}", FLEET),),
    "agents_heartbeat": (named("agents/{agent}/heartbeat", FLEET, BEAT),),
    "agents_requests": (named("agents/{agent}/requests", FLEET),),
    "agents_answer": (
        named(
            "agents/{agent}/answers",
            FLEET,
            {"id": "1", "source": "s", "type": "dcm.agent.error", "data": {"resource_id": "r"}},
        ),
    ),
    "agents_heartbeat_many": (
        named("agents:heartbeat", FLEET, {"items": [{"agent_id": "{agent}", **BEAT}]}),
    ),
    **{f"agents_{verb}": (named(f"agents/{{agent}}:{verb}", FLEET, {}),) for verb in _LIFE},
    "agents_revoke_tokens": (named("agents/{agent}:revoke-tokens", FLEET, {}),),
    "agents_issue_nats_login": (named("agents/{agent}:issue-nats-login", FLEET, {}),),
    "agents_revoke_nats_login": (named("agents/{agent}/nats-login", FLEET),),
    "agents_transfer": (named("agents/{agent}:transfer", FLEET, {"team": None}),),
    "agents_set_lease": (named("agents/{agent}:set-lease", FLEET, {"lease_seconds": 1800}),),
    "agents_set_environment_lease": (
        named("agents:set-environment-lease", FLEET, {"environment": "{environment}", "lease_seconds": 1800}),
    ),
    "agents_join": (Ask("agents:join", {**AGENT, "name": "joiner"}),),
    "providers_list": (named("agents/{agent}/providers", FLEET, shows=True),),
    "providers_register": (
        named(
            "agents/{agent}/providers", FLEET, {"name": "p", "endpoint": "http://x:1", "service_type": "vm"}
        ),
    ),
    "providers_get": (named("agents/{agent}/providers/{provider}", FLEET, shows=True),),
    "providers_remove": (named("agents/{agent}/providers/{provider}", FLEET),),
    "providers_history": (named("agents/{agent}/providers/{provider}/history", FLEET),),
    # Resources. Ids are unique: a caller may learn that an id is taken, and no more.
    "resources_list": (
        lists("resources", SCOPE_A, SCOPE_B),
        named("resources?project={project}", SCOPE_B, shows=True),
        lists("resources?service_type=storage&show_deleted=true&state=pending", SCOPE_A, SCOPE_B),
    ),
    "resources_create": (
        named("resources", SCOPE_B, {**_RESOURCE, "project": "{project}"}),
        named("resources", SCOPE_B, {**_RESOURCE, "project": "{project}", "domain": "none"}),
        Ask(f"resources?id={SCOPE_B}-resource", {**_RESOURCE, "project": SCOPE_A}, kind="echo"),
    ),
    "resources_get": (named("resources/{resource}", SCOPE_B, shows=True),),
    "resources_delete": (
        named("resources/{resource}", SCOPE_B, shows=True),
        named("resources/{resource}?force=true", SCOPE_B),
        named("resources/{resource}", SCOPE_B, If_Match='"v1"'),
    ),
    "resources_cancel": (named("resources/{resource}:cancel", SCOPE_B, shows=True),),
    "resources_retry": (named("resources/{resource}:retry", SCOPE_B, shows=True),),
    "placements_explain": (
        Ask("placements:explain", {"service_type": "vm"}, shows=(FLEET,)),
        named("placements:explain", SCOPE_B, {"resource_id": "{resource}"}),
        named("placements:explain", SCOPE_B, {"service_type": "vm", "project": "{project}"}),
    ),
    "resource_assignments_list": (named("resources/{resource}/assignments", SCOPE_B),),
    "fleet_guards_list": (lists("fleet-guards", FLEET),),
    "fleet_guards_overrule": (
        named("fleet-guards:overrule", FLEET, {"environment": "{environment}", "ruling": "lift"}, shows=True),
    ),
    # Records
    "audit_list": (
        lists("audit?limit=200", *(SCOPE_A, SCOPE_B, TEAM_A, TEAM_B, ACCESS, FLEET)),
        named("audit?object_type=publishing_team&object_id={team}", TEAM_B, shows=True),
    ),
    "events_list": (
        lists("events?limit=200", *(SCOPE_A, SCOPE_B, TEAM_A, TEAM_B, ACCESS, FLEET)),
        lists("events?after=0&limit=200", *(SCOPE_A, SCOPE_B, ACCESS, FLEET)),
        lists("events?limit=200&type=agent_config_grant.given", TEAM_A, TEAM_B),
        lists("events?limit=200&object_type=guard_rail", SCOPE_A, SCOPE_B),
        named("events?object_type=resource&object_id={resource}", SCOPE_B, shows=True),
        named("events?object_type=principal&object_id={principal}", ACCESS, shows=True),
        lists("events?after=0&limit=200&format=cloudevents", SCOPE_A, SCOPE_B, ACCESS, FLEET),
        Ask("events?after=0&limit=200", headers=(("Accept", "text/event-stream"),), shows=(SCOPE_B,)),
    ),
    "event_types_list": (lists("event-types"),),
    "event_types_schema": (named("event-types/{team}/schema", TEAM_B),),
    # Sinks, of team B
    "pools_list": (lists("pools", FLEET),),
    "pools_get": (named("pools/{pool}", FLEET, shows=True),),
    "pools_put": (named("pools/{pool}", FLEET, {"capacity": 2}, If_Match="*"),),
    "pools_delete": (named("pools/{pool}", FLEET, If_Match="*"),),
    "pools_usage": (named("pools/{pool}/usage", FLEET), lists("pools/shared/usage", SCOPE_B)),
    "pools_explain": (
        named("pools/{pool}:explain", FLEET, {}),
        named("pools/shared:explain", SCOPE_B, {"scope": {"project": "{project}"}}, shows=True),
    ),
    "pools_limits": (lists("pools/shared/limits", SCOPE_B),),
    "pools_put_limit": (named("pools/{pool}/limits?project=x", FLEET, {"cap": 1}, If_Match="*"),),
    "pools_delete_limit": (named("pools/{pool}/limits?project=x", FLEET, If_Match="*"),),
    "pools_leases": (lists("pools/shared/leases", SCOPE_B), named("pools/{pool}/leases", FLEET)),
    "pools_acquire": (named("pools/{pool}/leases", FLEET, {"token": "t", "units": 9}),),
    "pools_lease": (named("pools/shared/leases/{lease}", SCOPE_B, shows=True),),
    "pools_release": (named("pools/shared/leases/{lease}", SCOPE_B),),
    "pools_renew": (named("pools/shared/leases/{lease}:renew", SCOPE_B, {"epoch": 1}),),
    "pools_revoke": (named("pools/shared/leases/{lease}:revoke", SCOPE_B),),
    "pools_release_token": (
        named("pools/shared/leases:release", SCOPE_B, {"token": "t", "scope": {"project": "{project}"}}),
    ),
    "pools_lease_batch": (
        named("pools/shared/leases:batch", SCOPE_B, {"operations": [{"release": {"lease": "{lease}"}}]}),
    ),
    "sinks_list": (lists("sinks", TEAM_B),),
    "sinks_create": (
        named("sinks", TEAM_B, {"name": "s", "team": "{team}", "config": _RECEIVER}),
        named("sinks", TEAM_B, {"name": "s", "config": _RECEIVER, "filter": {"teams": ["{team}"]}}),
    ),
    "sinks_get": (named("sinks/{sink}", TEAM_B, shows=True),),
    "sinks_put": (named("sinks/{sink}", TEAM_B, {"name": "s", "config": _RECEIVER}, If_Match="*"),),
    "sinks_delete": (named("sinks/{sink}", TEAM_B, If_Match="*"),),
    "sinks_pause": (named("sinks/{sink}:pause", TEAM_B, shows=True),),
    "sinks_resume": (named("sinks/{sink}:resume", TEAM_B, shows=True),),
    "sinks_test": (named("sinks/{sink}:test", TEAM_B),),
    "sinks_replay": (named("sinks/{sink}:replay", TEAM_B, {"after_seq": 0}),),
    "sinks_rotate_secret": (named("sinks/{sink}:rotate-secret", TEAM_B, {}),),
    "sinks_revoke_old": (named("sinks/{sink}:revoke-old", TEAM_B),),
    "sinks_preview": (
        Ask("sinks:preview", {"filter": {}}),
        named("sinks:preview", TEAM_B, {"filter": {"teams": ["{team}"]}}),
    ),
    "sinks_deliveries": (named("sinks/{sink}/deliveries", TEAM_B, shows=True),),
    "deliveries_get": (named("deliveries/{delivery}", TEAM_B, shows=True),),
    "deliveries_retry": (named("deliveries/{delivery}:retry", TEAM_B, shows=True),),
    "deliveries_discard": (named("deliveries/{delivery}:discard", TEAM_B, shows=True),),
    # Notifications, of team B
    "notification_rules_list": (lists("notification-rules", TEAM_B),),
    "notification_rules_create": (
        named("notification-rules", TEAM_B, {**_RULE, "team": "{team}"}),
        named("notification-rules", TEAM_B, {**_RULE, "to": ["{channel}"]}),
    ),
    "notification_rules_preview": (
        Ask("notification-rules:preview", _RULE),
        named("notification-rules:preview", TEAM_B, {**_RULE, "when": {"teams": ["{team}"]}}),
    ),
    "notification_rules_get": (named("notification-rules/{alert_rule}", TEAM_B, shows=True),),
    "notification_rules_put": (named("notification-rules/{alert_rule}", TEAM_B, _RULE, If_Match="*"),),
    "notification_rules_delete": (named("notification-rules/{alert_rule}", TEAM_B, If_Match="*"),),
    "notification_channels_list": (lists("notification-channels", TEAM_B),),
    "notification_channels_create": (named("notification-channels", TEAM_B, {**_CHANNEL, "team": "{team}"}),),
    "notification_channels_get": (named("notification-channels/{channel}", TEAM_B, shows=True),),
    "notification_channels_put": (named("notification-channels/{channel}", TEAM_B, _CHANNEL, If_Match="*"),),
    "notification_channels_delete": (named("notification-channels/{channel}", TEAM_B, If_Match="*"),),
    "notification_channels_resume": (named("notification-channels/{channel}:resume", TEAM_B, shows=True),),
    "notification_channels_rotate_secret": (
        named("notification-channels/{channel}:rotate-secret", TEAM_B, {"overlap_hours": 1}),
    ),
    "notification_channels_test": (named("notification-channels/{channel}:test", TEAM_B),),
    "alerts_list": (lists("alerts", TEAM_B), named("alerts?rule={alert_rule}", TEAM_B, shows=True)),
    "alerts_get": (named("alerts/{alert}", TEAM_B, shows=True),),
    "alerts_acknowledge": (named("alerts/{alert}:acknowledge", TEAM_B, shows=True),),
    "notifications_send": (named("notifications:send", TEAM_B, {"channel": "{channel}", "subject": "s"}),),
    "alertmanager_report": (Ask("alertmanager", {"alerts": []}),),
    "backups_report": (Ask("backups", {}),),
    # Dead letters, of the platform's agents
    "dead_letters_list": (lists("dead-letters", FLEET),),
    "dead_letters_get": (named("dead-letters/{letter}", FLEET, shows=True),),
    "dead_letters_replay": (named("dead-letters/{letter}:replay", FLEET),),
    "dead_letters_discard": (named("dead-letters/{letter}:discard", FLEET, shows=True),),
    # Overrides
    "overrides_list": (
        lists("overrides?limit=200", SCOPE_A, SCOPE_B),
        named("overrides?project={project}", SCOPE_B, shows=True),
        lists("overrides?as_of=2"),
    ),
    "overrides_get": (named(f"overrides/task_resource?{_FLOW}", SCOPE_B, shows=True),),
    "overrides_put": (
        named(f"overrides/task_resource?{_FLOW}", SCOPE_B, _ATTRIBUTES),
        Ask(f"overrides/task_resource?{_SCOPE_A_PLACE}", _ATTRIBUTES, headers=(("If_Match", '"v2"'),)),
    ),
    "overrides_patch": (named(f"overrides/task_resource?{_FLOW}", SCOPE_B, _ATTRIBUTES, If_Match='"v2"'),),
    "overrides_delete": (named(f"overrides/task_resource?{_FLOW}", SCOPE_B, If_Match='"v2"'),),
    "overrides_blame": (named(f"overrides/task_resource/blame?{_FLOW}", SCOPE_B, shows=True),),
    "override_versions_list": (named(f"overrides/task_resource/versions?{_FLOW}", SCOPE_B, shows=True),),
    "override_versions_get": (
        named(f"overrides/task_resource/versions/1?{_FLOW}", SCOPE_B, shows=True),
        named(f"overrides/task_resource/versions/{{version}}?{_FLOW}", SCOPE_B),
    ),
    "override_versions_diff": (
        named(f"overrides/task_resource/versions/1/diff/2?{_FLOW}", SCOPE_B, shows=True),
    ),
    "overrides_preview": (
        named(f"overrides/task_resource:preview?{_FLOW}", SCOPE_B, _ATTRIBUTES),
        Ask(f"overrides/task_resource:preview?{_SCOPE_A_PLACE}", _ATTRIBUTES),
    ),
    "overrides_rollback": (
        named(f"overrides/task_resource:rollback?{_FLOW}", SCOPE_B, {"to_version": 1}, shows=True),
    ),
    "overrides_undelete": (named(f"overrides/task_resource:undelete?{_FLOW}", SCOPE_B),),
    "overrides_diff": (
        lists("overrides/diff?from=0", SCOPE_A, SCOPE_B),
        named("overrides/diff?from=0&project={project}", SCOPE_B, shows=True),
    ),
    "overrides_document_get": (named(f"overrides/document?{_FLOW}", SCOPE_B, shows=True),),
    "overrides_document_put": (
        named("overrides/document?project={project}", SCOPE_B, _document("{project}")),
    ),
    "overrides_effective": (
        named(f"overrides/effective?{_FLOW}", SCOPE_B, shows=True),
        lists("overrides/effective"),
        lists("overrides/effective?domain=development"),
        lists(f"overrides/effective?project={SCOPE_A}", SCOPE_A),
    ),
    "overrides_effective_render": (
        named("overrides/effective/render?project={project}", SCOPE_B),
        lists("overrides/effective/render"),
    ),
    "overrides_effective_cluster_resources": (
        named("overrides/effective/cluster-resources?project={project}&domain=development", SCOPE_B),
    ),
    "overrides_pod_preview": (
        named(
            "overrides/pod-preview",
            SCOPE_B,
            {"project": "{project}", "domain": "development", "task": {"container": {"image": "busybox"}}},
        ),
    ),
    "overrides_effective_batch": (
        named("overrides/effective:batch", SCOPE_B, {"scopes": [_FLOW_SCOPE]}, shows=True),
    ),
    "overrides_effective_stream": (
        named("overrides/effective:stream", SCOPE_B, {"scopes": [_FLOW_SCOPE]}, shows=True),
    ),
    "overrides_effective_snapshot": (
        named("overrides/effective:snapshot", SCOPE_B, {"scopes": [_FLOW_SCOPE]}),
    ),
    "overrides_export": (
        lists("overrides/export", SCOPE_A, SCOPE_B),
        lists("overrides/export?format=documents", SCOPE_A, SCOPE_B),
    ),
    "override_revisions_list": (lists("overrides/revisions?limit=200", SCOPE_A, SCOPE_B),),
    "override_revisions_get": (named("overrides/revisions/{revision}", SCOPE_B, shows=True),),
    "meta_get": (lists("meta"),),
    "meta_support": (lists("meta/support"),),
    "debug_requests": (lists("debug/requests"),),
    "overrides_source": (lists("overrides/source"),),
    "overrides_source_confirm": (Ask("overrides/source:confirm", {"digest": "0"}),),
    "overrides_apply": (
        named("overrides:apply", SCOPE_B, {"documents": [_document("{project}")]}),
        Ask("overrides:apply?prune=true", {"documents": [_document(SCOPE_A)]}),
        named("overrides:apply?prune=true&project={project}", SCOPE_B, {"documents": [_document(SCOPE_A)]}),
        Ask("overrides:apply?prune=true&selector=team%3Dml", {"documents": [_document(SCOPE_A)]}),
    ),
    "overrides_import": (
        named(
            "overrides:import",
            SCOPE_B,
            {"flytectl_files": {"tra.yaml": "project: {project}\ndefaults:\n  cpu: '1'\n"}},
        ),
    ),
    "overrides_rollback_scope": (
        named("overrides:rollback?project={project}", SCOPE_B, {"to_revision": 0}, shows=True),
        Ask("overrides:rollback", {"to_revision": 0}, shows=(SCOPE_A, SCOPE_B)),
    ),
    "override_changes_list": (
        lists("override-changes", SCOPE_A, SCOPE_B),
        lists("override-changes?state=scheduled", SCOPE_A, SCOPE_B),
        named("override-changes?project={project}", SCOPE_B, shows=True),
    ),
    "override_changes_create": (named("override-changes", SCOPE_B, _change("{project}"), shows=True),),
    "override_changes_get": (named("override-changes/{change}", SCOPE_B, shows=True),),
    "override_changes_cancel": (named("override-changes/{change}:cancel", SCOPE_B, shows=True),),
    "override_freezes_list": (
        lists("override-freezes", SCOPE_A, SCOPE_B),
        lists("override-freezes?state=upcoming", SCOPE_A, SCOPE_B),
    ),
    "override_freezes_create": (named("override-freezes", SCOPE_B, _freeze("{project}"), shows=True),),
    "override_freezes_get": (named("override-freezes/{freeze}", SCOPE_B, shows=True),),
    "override_freezes_update": (named("override-freezes/{freeze}", SCOPE_B, {"reason": "r"}),),
    "override_freezes_end": (named("override-freezes/{freeze}:end", SCOPE_B, shows=True),),
    "approval_policies_list": (lists("approval-policies", SCOPE_A, SCOPE_B),),
    "approval_policies_create": (named("approval-policies", SCOPE_B, _policy("{project}"), shows=True),),
    "approval_policies_get": (named("approval-policies/{policy}", SCOPE_B, shows=True),),
    "approval_policies_update": (named("approval-policies/{policy}", SCOPE_B, {"approvals": 2}),),
    "approval_policies_delete": (named("approval-policies/{policy}", SCOPE_B),),
    "change_requests_list": (
        lists("change-requests", SCOPE_A, SCOPE_B),
        lists("change-requests?state=open", SCOPE_A, SCOPE_B),
        lists("change-requests?assigned=me"),
        named("change-requests?project={project}", SCOPE_B, shows=True),
    ),
    "change_requests_create": (named("change-requests", SCOPE_B, _request("{project}"), shows=True),),
    "change_requests_get": (named("change-requests/{request}", SCOPE_B, shows=True),),
    "change_requests_approve": (named("change-requests/{request}:approve", SCOPE_B, {"digest": "d"}),),
    "change_requests_reject": (
        named("change-requests/{request}:reject", SCOPE_B, {"comment": "c"}, shows=True),
    ),
    "change_requests_withdraw": (named("change-requests/{request}:withdraw", SCOPE_B, shows=True),),
    "change_requests_refresh": (named("change-requests/{request}:refresh", SCOPE_B, shows=True),),
    "change_requests_publish": (named("change-requests/{request}:publish", SCOPE_B, {}),),
    "change_requests_comment": (
        named("change-requests/{request}/comments", SCOPE_B, {"text": "t"}, shows=True),
    ),
    "guard_rails_list": (
        lists("guard-rails", SCOPE_A, SCOPE_B),
        lists("guard-rails?resource_type=task_resource", SCOPE_B),
    ),
    "guard_rails_get": (named("guard-rails/{rail}", SCOPE_B, shows=True),),
    "guard_rails_put": (
        named("guard-rails/{rail}", SCOPE_B, _rail("{rail}", "{project}"), If_Match='"v1"'),
        # Names of rails are unique: that one is taken is all that may be said of it.
        Ask(f"guard-rails/{SCOPE_B}-rail", _rail(f"{SCOPE_B}-rail", SCOPE_A), kind="echo"),
    ),
    "guard_rails_delete": (named("guard-rails/{rail}", SCOPE_B),),
    "guard_rails_undelete": (named("guard-rails/{rail}:undelete", SCOPE_B),),
    "resource_types_list": (lists("resource-types"),),
    "resource_types_create": (Ask("resource-types", _TYPE),),
    "resource_types_get": (lists("resource-types/task_resource"),),
    "resource_types_put": (Ask("resource-types/some_type", _TYPE),),
    "resource_types_delete": (Ask("resource-types/task_resource"),),
    "resource_types_undelete": (Ask("resource-types/task_resource:undelete"),),
    "domains_list": (lists("scopes/domains"),),
    "domains_create": (Ask("scopes/domains", {"id": "qa"}),),
    "domains_get": (lists("scopes/domains/development"),),
    "projects_list": (lists("scopes/projects", SCOPE_A, SCOPE_B),),
    "projects_create": (named("scopes/projects", SCOPE_B, {"id": "{project}"}),),
    "projects_get": (
        named("scopes/projects/{project}", SCOPE_B, shows=True),
        lists(f"scopes/projects/{SCOPE_B[:-1]}"),
    ),
    "projects_patch": (named("scopes/projects/{project}", SCOPE_B, {"name": "x"}, shows=True),),
    # Access
    "me_get": (lists("me"),),
    "jobs_list": (lists("jobs", SCOPE_A, SCOPE_B), named("jobs?project={project}", SCOPE_B, shows=True)),
    "jobs_get": (named("jobs/{project}/{job}", SCOPE_B, shows=True),),
    "jobs_put": (
        named("jobs/{project}/{job}", SCOPE_B, {"text": job_text("{job}")}, If_Match='"v1"'),
        # Who reads the plugins of all teams learns their names: no kind is hidden here.
        Ask(
            f"jobs/{SCOPE_A}/{SCOPE_A}-job",
            {"text": job_text(f"{SCOPE_A}-job"), "team": TEAM_B},
            headers=(("If_Match", '"v1"'),),
        ),
    ),
    "jobs_delete": (named("jobs/{project}/{job}", SCOPE_B, If_Match='"v1"'),),
    "job_variables_get": (named("job-variables/{project}", SCOPE_B, shows=True),),
    "job_variables_put": (
        named("job-variables/{project}", SCOPE_B, {"variables": {"A": "b"}}, If_Match='"v1"'),
    ),
    "job_secrets_list": (named("job-secrets/{project}", SCOPE_B, shows=True),),
    "job_secrets_put": (named("job-secrets/{project}/{job_secret}", SCOPE_B, {"value": "x"}),),
    "job_secrets_delete": (named("job-secrets/{project}/{job_secret}", SCOPE_B),),
    "job_runs_list": (named("jobs/{project}/{job}/runs", SCOPE_B, shows=True),),
    "job_runs_create": (named("jobs/{project}/{job}/runs", SCOPE_B, {"scheduled_at": _AT}),),
    "jobs_render": (named("jobs/{project}/{job}:render", SCOPE_B, {"kind": "pod"}),),
    "jobs_run_input": (named("jobs/{project}/{job}:run-input", SCOPE_B, {"scheduled_at": _AT}),),
    "jobs_preview_input": (named("jobs/{project}/{job}:preview-input", SCOPE_B, {"scheduled_at": _AT}),),
    "jobs_validate": (Ask("jobs:validate", {"text": JOB}),),
    "jobs_preview": (Ask("jobs:preview", {"text": JOB, "scheduled_at": "2026-11-23T02:00:00Z"}),),
    "plugin_config_get": (named("plugin-config?team={plugin_team}", FLEET, shows=True),),
    "plugin_config_put": (
        named("plugin-config?team={plugin_team}", FLEET, {"text": _PLUGINS}, If_Match="*"),
        Ask("plugin-config", {"text": _PLUGINS}),
    ),
    "plugin_config_versions": (named("plugin-config/versions?team={plugin_team}", FLEET, shows=True),),
    "plugin_config_source": (named("plugin-config/source?team={plugin_team}", FLEET),),
    "plugin_config_lock": (named("plugin-config/lock?team={plugin_team}", FLEET, shows=True),),
    "plugin_secrets_list": (named("plugin-secrets?team={plugin_team}", FLEET, shows=True),),
    "plugin_secrets_put": (named("plugin-secrets/x?team={plugin_team}", FLEET, {"value": "v"}),),
    "plugin_secrets_delete": (named("plugin-secrets/{plugin_secret}?team={plugin_team}", FLEET),),
    "plugins_list": (lists("plugins", FLEET), named("plugins?team={plugin_team}", FLEET, shows=True)),
    "plugins_get": (named("plugins/{plugin}?team={plugin_team}", FLEET, shows=True),),
    "plugins_version": (named("plugins/{plugin}/0.0.0?team={plugin_team}", FLEET),),
    "plugins_artifact": (named("plugins/{plugin}/artifact?team={plugin_team}", FLEET),),
    "plugin_releases_list": (
        lists("plugin-releases", FLEET),
        named("plugin-releases?team={plugin_team}", FLEET, shows=True),
    ),
    "plugin_releases_get": (named("plugin-releases/{plugin_release}", FLEET, shows=True),),
    "plugin_releases_create": (named("plugin-releases?team={plugin_team}", FLEET, {}, shows=True),),
    "plugin_releases_activate": (named("plugin-releases/{plugin_release}:activate", FLEET, shows=True),),
    "plugin_releases_rollback": (named("plugin-releases/{plugin_release}:rollback", FLEET, shows=True),),
    "plugin_releases_cancel": (named("plugin-releases/{plugin_release}:cancel", FLEET),),
    "plugin_nodes_list": (lists("plugin-nodes"),),
    "plugin_config_validate": (Ask("plugin-config:validate", {"text": "plugins: {}"}),),
    "plugin_specs_validate": (Ask("plugin-specs:validate", {"text": "name: x"}),),
    "me_can_i": (
        named("me:can-i", SCOPE_B, {"action": "override.read", "scope": {"project": "{project}"}}),
        named("me:can-i", GROUP, {"action": "agent.write", "team": "{group}"}),
    ),
    "me_change_password": (Ask("me:change-password", {"current_password": "x", "new_password": "y"}),),
    "sessions_list": (lists("sessions"), named("sessions?principal={principal}", ACCESS, shows=True)),
    "sessions_end": (named("sessions/{session}", ACCESS),),
    "sessions_end_all": (named("sessions:end", ACCESS, {"principal": "{principal}"}),),
    "principals_list": (lists("principals?limit=200", ACCESS),),
    "principals_create": (named("principals", ACCESS, {"name": "{principal}", "kind": "service"}),),
    "principals_get": (named("principals/{principal}", ACCESS, shows=True),),
    "principals_patch": (named("principals/{principal}", ACCESS, {"is_active": False}, shows=True),),
    "tokens_list": (lists("tokens"), named("tokens?principal={principal}", ACCESS, shows=True)),
    "tokens_create": (named("tokens", ACCESS, {"name": "t", "principal": "{principal}"}, shows=True),),
    "tokens_revoke": (named("tokens/{token}", ACCESS),),
    "role_bindings_list": (
        lists("role-bindings?limit=200", ACCESS),
        named("role-bindings?principal={principal}", ACCESS, shows=True),
    ),
    "role_bindings_create": (
        named("role-bindings", GROUP, {"team": "{group}", "role": "viewer"}),
        named("role-bindings", GROUP, {"principal": "va", "role": "viewer", "owned_by": "{group}"}),
        named("role-bindings", ACCESS, {"principal": "{principal}", "role": "viewer"}, shows=True),
    ),
    "role_bindings_delete": (named("role-bindings/{binding}", ACCESS),),
    # Teams and their members. Administrators of the installation read them all.
    "teams_list": (
        lists("teams?limit=200", GROUP),
        named("teams?member={principal}", ACCESS),
    ),
    "teams_create": (named("teams", GROUP, {"slug": "{group}"}),),
    "teams_get": (named("teams/{group}", GROUP, shows=True),),
    "teams_put": (named("teams/{group}", GROUP, {"title": "T"}, If_Match="*"),),
    "teams_delete": (named("teams/{group}", GROUP, If_Match="*"),),
    "team_members_list": (named("teams/{group}/members", GROUP), lists(f"teams/{GROUP}/members", ACCESS)),
    "team_members_put": (named("teams/{group}/members/{principal}", GROUP),),
    "team_members_delete": (named("teams/{group}/members/{principal}", GROUP),),
    "organisations_list": (lists("organisations"),),
    "organisations_create": (Ask("organisations", {"slug": "acme"}),),
    "organisations_get": (Ask("organisations/default"),),
    "roles_list": (lists("roles"),),
    "roles_create": (Ask("roles", {"name": "own", "actions": ["agent.read"]}),),
    "roles_get": (Ask("roles/viewer"),),
    "roles_put": (Ask("roles/own", {"actions": ["agent.read"]}),),
    "roles_delete": (Ask("roles/own"),),
    "access_matrix": (
        named("access/matrix?action=override.read&project={project}", SCOPE_B),
        named("access/matrix?action=agent.write&team={group}", GROUP),
        lists("access/matrix?action=access.write"),
    ),
    # Logins: what only administrators of the installation see.
    "identities_list": (
        lists("identities?limit=200", ACCESS),
        named("identities?principal={principal}", ACCESS, shows=True),
    ),
    "identities_create": (
        named("identities", ACCESS, {"principal": "{principal}", "issuer": "https://i", "subject": "s"}),
    ),
    "identities_delete": (named("identities/{identity}", ACCESS),),
    "identity_providers_list": (lists("identity-providers", ACCESS),),
    "identity_providers_get": (named("identity-providers/{provider_slug}", ACCESS, shows=True),),
    "identity_providers_put": (
        named("identity-providers/{provider_slug}", ACCESS, {"issuer": "https://i", "client_id": "c"}),
    ),
    "identity_providers_delete": (named("identity-providers/{provider_slug}", ACCESS, If_Match="*"),),
    "identity_providers_test": (
        named("identity-providers/{provider_slug}:test", ACCESS, {"claims": {"sub": "s"}}),
    ),
    "oauth_clients_list": (lists("oauth-clients?limit=200", ACCESS),),
    "oauth_clients_create": (
        named("oauth-clients", ACCESS, {"client_id": "{client}", "grants": ["client_credentials"]}),
    ),
    "oauth_clients_get": (named("oauth-clients/{client}", ACCESS, shows=True),),
    "oauth_clients_patch": (named("oauth-clients/{client}", ACCESS, {"title": "T"}, If_Match="*"),),
    "oauth_clients_delete": (named("oauth-clients/{client}", ACCESS, If_Match="*"),),
    "oauth_client_secrets_list": (named("oauth-clients/{client}/secrets", ACCESS),),
    "oauth_client_secrets_create": (named("oauth-clients/{client}/secrets", ACCESS, {}),),
    "oauth_client_secrets_revoke": (named("oauth-clients/{client}/secrets/{secret}", ACCESS),),
    "signing_keys_list": (lists("signing-keys"),),
    "signing_keys_rotate": (Ask("signing-keys:rotate", {}),),
    "trusted_issuers_list": (lists("trusted-issuers", ACCESS),),
    "trusted_issuers_create": (Ask("trusted-issuers", {"issuer": "https://i", "audiences": ["a"]}),),
    "trusted_issuers_get": (named("trusted-issuers/{trusted}", ACCESS, shows=True),),
    "trusted_issuers_put": (
        named("trusted-issuers/{trusted}", ACCESS, {"issuer": "https://i", "audiences": ["a"]}, If_Match="*"),
    ),
    "trusted_issuers_delete": (named("trusted-issuers/{trusted}", ACCESS, If_Match="*"),),
    "trusted_issuers_test": (Ask("trusted-issuers:test", {"token": "a.b.c"}),),
    "join_tokens_list": (lists("join-tokens", ACCESS),),
    "join_tokens_create": (Ask("join-tokens", {"name": "j", "name_pattern": "j-*"}),),
    "join_tokens_revoke": (named("join-tokens/{join}", ACCESS),),
}
