# ruff: noqa: E501  (a table)
"""The pages of the console that `make screenshots` takes pictures of, with what the demo shows there."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Picture:
    """address: with {} for an identifier: a field of the first item at a path of the API.

    identifiers: path and field; the path of the next one may have {} for the one before.

    is_main: also dark, and on a phone.
    """

    group: str
    name: str
    title: str
    address: str
    caption: str
    identifiers: tuple[tuple[str, str], ...] = ()
    is_main: bool = False
    waits: bool = False


_WORKFLOW = "project=storefront&domain=production&workflow=rank_products"
_SHOP = "project=storefront"
_AGENT = (("agents?q=staging-flaky", "agent_id"),)
_SINK = (("sinks", "id"),)
_DELIVERY = (*_SINK, ("sinks/{}/deliveries", "id"))

PAGES = [
    Picture("Home", "login", "Log in", "/login", "With a password, or at an identity provider."),
    Picture("Home", "dashboard", "Dashboard", "/", "What is wrong, since when, and what happened before.", is_main=True),
    Picture("Home", "search", "Search", "/search?q=rank", "Pages and objects by name, scopes, and values."),
    Picture(
        "Configuration", "effective", "Effective values", f"/overrides?{_WORKFLOW}",
        "What applies to one workflow, where each value comes from, and what it replaced.", is_main=True,
    ),
    Picture(
        "Configuration", "why", "Why a value applies",
        f"/overrides?{_WORKFLOW}&why=task_resource/limits/cpu&without=project",
        "Each level with its value, who set it, and what would change without it.",
    ),
    Picture(
        "Configuration", "edit", "Override editor", f"/overrides/task_resource/edit?{_SHOP}",
        "A form made from the type’s schema, and the same as YAML.", is_main=True,
    ),
    Picture(
        "Configuration", "history", "History", f"/overrides/task_resource/history?{_SHOP}",
        "Versions with author and reason; each can be compared, and rolled back to after a preview.",
    ),
    Picture(
        "Configuration", "scheduled", "A value until Friday", "/overrides?project=forecasting&domain=development",
        "Eight GPUs until Friday; then the former value is back.",
    ),
    Picture(
        "Configuration", "compare", "Compare scopes",
        "/overrides/compare?project=storefront&domain=production&other_project=fraud-detection&other_domain=production",
        "What differs between two scopes.",
    ),
    Picture("Configuration", "copy", "Copy to a scope", "/overrides/task_resource/copy?project=storefront", "The same values elsewhere, after a preview."),
    Picture("Configuration", "freezes", "Freezes", "/override-freezes", "Times in which overrides stay as they are."),
    Picture("Configuration", "freeze-declare", "Declare a freeze", "/override-freezes:declare?project=storefront", "With an end and a reason."),
    Picture("Configuration", "types", "Resource types", "/resource-types", "Types are data: schema, merge rule, levels."),
    Picture("Configuration", "type", "Resource type", "/resource-types/task_resource", "One type, with its schema."),
    Picture("Configuration", "type-editor", "Create a resource type", "/resource-types:new", "A type of your own, without code."),
    Picture(
        "Configuration", "agent-configs", "Agent configurations", "/agent-configs",
        "Documents of teams, and their status in each data plane.",
    ),
    Picture(
        "Configuration", "agent-config", "Document", "/agent-configs/documents/api/commerce/connectors",
        "One document: conditions in each data plane, and the task type that it lost.",
    ),
    Picture(
        "Configuration", "agent-config-conflicts", "Conflicts", "/agent-configs/conflicts",
        "Who claims the same name, and which rule decided.",
    ),
    Picture("Configuration", "agent-config-hand-over", "Transfer a claim", "/agent-configs/conflicts/hand-over?kind=task_type&name=feature_lookup&from_team=risk&to_team=commerce", "The effects, before it happens."),
    Picture("Configuration", "agent-config-try", "Check a document", "/agent-configs/try?team=commerce&name=connectors", "What a document would do, without publishing it."),
    Picture("Configuration", "data-planes", "Data planes", "/agent-configs/planes", "Two data planes, one a canary."),
    Picture(
        "Configuration", "data-plane", "Data plane", "/agent-configs/planes/production-eu",
        "The revisions of a data plane, and what it acknowledged.",
    ),
    Picture(
        "Configuration", "bundle", "Bundle", "/agent-configs/planes/production-eu/3?against=2",
        "What a revision changed.",
    ),
    Picture("Configuration", "task-types", "Task types", "/task-types", "Who serves what."),
    Picture(
        "Configuration", "task-type-published", "Task type", "/task-types/feature_lookup",
        "Its owner in each data plane, and who lost it.",
    ),
    Picture("Fleet", "agents", "Agents", "/agents?sort=-state_since", "State, reason and time of each agent.", is_main=True),
    Picture("Fleet", "agent", "Agent", "/agents/{}", "An agent that flaps, and its last day.", _AGENT, is_main=True),
    Picture("Fleet", "agent-reachability", "Reachability test", "/agents/{}/reachability", "Whether heartbeats arrive, and whether requests do.", _AGENT),
    Picture("Fleet", "agent-drain", "Drain an agent", "/agents/{}/drain", "The effects, before it happens.", _AGENT),
    Picture("Fleet", "agent-rotate-token", "Rotate a token", "/agents/{}/rotate-token", "Whose token it is, before it is changed.", _AGENT),
    Picture("Fleet", "environments", "Environments", "/environments", "Agents by environment and service type."),
    Picture("Fleet", "guards", "Fleet guards", "/fleet-guards", "What stops a mass expiry."),
    Picture("Fleet", "guard-ruling", "Overrule a guard", "/fleet-guards/overrule?environment=edge&ruling=engage", "Before maintenance, for as long as it takes."),
    Picture("Delivery", "resources", "Resources", "/resources", "Requests in each state.", is_main=True),
    Picture("Delivery", "resource", "Resource", "/resources/basket-cache", "One request: its agent, and each message."),
    Picture("Delivery", "resource-failed", "Failed resource", "/resources/risk-archive", "Why it failed."),
    Picture(
        "Delivery", "resource-placement", "Placement", "/resources/search-index/placement",
        "Why this agent, and why no other.",
    ),
    Picture("Delivery", "resource-new", "Request a resource", "/resources:new", "With a preview of the placement."),
    Picture("Delivery", "dead-letters", "Dead letters", "/dead-letters", "Messages that nobody could handle."),
    Picture("Delivery", "dead-letter", "Dead letter", "/dead-letters/{}", "One of them.", (("dead-letters", "id"),)),
    Picture("Delivery", "pools", "Pools", "/pools", "Units of what is limited."),
    Picture("Delivery", "pool", "Pool", "/pools/gpu-a100", "Who has the GPUs, and who waits.", is_main=True),
    Picture("Delivery", "pool-edit", "Edit a pool", "/pools/gpu-a100/edit", "Capacity, leases, fairness."),
    Picture("Delivery", "plugins", "Plugins", "/plugins", "Versions, states, and who runs them."),
    Picture("Delivery", "plugin", "Plugin", "/plugins/sql2table", "One plugin."),
    Picture("Delivery", "plugin-releases", "Plugin releases", "/plugin-releases", "Each release of plugins."),
    Picture(
        "Delivery", "plugin-release", "Plugin release", "/plugin-releases/{}", "What a release changed, and on which nodes.",
        (("plugin-releases", "id"),),
    ),
    Picture("Delivery", "plugin-nodes", "Nodes and releases", "/plugin-releases:nodes", "Which node runs which release."),
    Picture("Delivery", "plugin-config", "Plugin configuration", "/plugin-config", "Where archives come from."),
    Picture("Delivery", "jobs", "Jobs", "/jobs", "Stored jobs."),
    Picture("Delivery", "job", "Job", "/jobs/forecasting/demand.daily", "What a run of it gets, and from where."),
    Picture("Activity", "alerts", "Alerts", "/alerts", "What fires, and since when."),
    Picture("Activity", "alert", "Alert", "/alerts/{}", "One alert, with its messages.", (("alerts", "id"),)),
    Picture("Activity", "notification-rules", "Notification rules", "/notification-rules", "Which events become alerts."),
    Picture("Activity", "notification-rule", "Notification rule", "/notification-rules/{}/edit", "Its filter, channels and quiet hours.", (("notification-rules", "id"),)),
    Picture(
        "Activity", "notification-channels", "Notification channels", "/notification-channels", "Where messages go."
    ),
    Picture("Activity", "audit", "Audit log", "/audit?object_type=override", "Who changed what, before and after.", is_main=True),
    Picture("Activity", "events", "Events", "/events", "What happened, as it happens."),
    Picture("Activity", "sinks", "Event sinks", "/sinks", "Webhooks and brokers."),
    Picture("Activity", "sink", "Event sink", "/sinks/{}", "A receiver that refuses every fourth event.", _SINK),
    Picture("Activity", "deliveries", "Deliveries", "/sinks/{}/deliveries", "What was sent.", _SINK),
    Picture("Activity", "delivery", "Delivery", "/sinks/deliveries/{}", "Each attempt: what was sent, and the answer.", _DELIVERY),
    Picture("Activity", "sink-new", "Create a sink", "/sinks:new", "With a preview of its filter."),
    Picture("Activity", "status", "Status", "/status", "The installation itself: processes, queues, versions."),
    Picture("Settings", "people", "People", "/people", "People and programs."),
    Picture("Settings", "teams", "Teams", "/teams", "Teams."),
    Picture("Settings", "team", "Team", "/teams/commerce", "Members and roles of a team."),
    Picture("Settings", "roles", "Roles", "/roles", "Built-in roles, and one of your own."),
    Picture("Settings", "role-bindings", "Role bindings", "/role-bindings", "Who has which role where."),
    Picture(
        "Settings", "who-can", "Who can", "/who-can?action=override.write&project=storefront", "Who may do something, and by what."
    ),
    Picture("Settings", "tokens", "Tokens", "/tokens", "Tokens, which are shown once."),
    Picture("Settings", "sessions", "Sessions", "/sessions", "Where you are logged in."),
    Picture("Settings", "password", "Password", "/account/password", "Your password."),
    Picture("Settings", "identity-providers", "Identity providers", "/identity-providers", "Log in with the account that people have."),
    Picture("Settings", "join-tokens", "Join tokens", "/join-tokens", "With which agents join."),
    Picture("Settings", "api-reference", "API reference", "/api-reference", "Each operation of the API, with a filter."),
    Picture("Settings", "api-operation", "Operation", "/api-reference/overrides_get", "Fields, permission, errors, and an example that runs."),
]  # fmt: skip
