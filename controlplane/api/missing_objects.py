"""Explanations of the problem codes of objects that do not exist for the caller. Pure."""

from __future__ import annotations

from controlplane.api.explanations import LIST_THEM, Explanation

MISSING_OBJECTS: dict[str, Explanation] = {
    "unknown_project": Explanation(
        "The project does not exist, or you do not have permission to read it.", LIST_THEM
    ),
    "unknown_domain": Explanation("The domain does not exist.", LIST_THEM),
    "unknown_resource_type": Explanation(
        "The resource type does not exist.", "List the types with GET /api/v1/resource-types."
    ),
    "unknown_override": Explanation(
        "There is no override at exactly this scope. The scope may still inherit values.",
        "Read the effective values with GET /api/v1/overrides/effective.",
    ),
    "unknown_version": Explanation(
        "The version or revision does not exist or is no longer kept.",
        "List the existing versions in the history of the override.",
    ),
    "unknown_override_freeze": Explanation(
        "The freeze does not exist, or you do not have permission to read it.",
        "List the freezes with GET /api/v1/override-freezes.",
    ),
    "unknown_override_change": Explanation(
        "The scheduled change does not exist, or you do not have permission to read it.",
        "List them with GET /api/v1/override-changes.",
    ),
    "unknown_agent_bulk_change": Explanation(
        "The bulk change does not exist, was deleted, or you do not have permission to read it.",
        "List them with GET /api/v1/agent-bulk-changes. They are kept for 30 days after their end.",
    ),
    "unknown_operation": Explanation(
        "The operation does not exist, was deleted, or you do not have permission to read its object.",
        "List them with GET /api/v1/operations.",
    ),
    "unknown_approval_policy": Explanation(
        "The approval policy does not exist, or you do not have permission to read it.",
        "List the policies with GET /api/v1/approval-policies.",
    ),
    "unknown_change_request": Explanation(
        "The change request does not exist, or you do not have permission to read it.",
        "List them with GET /api/v1/change-requests.",
    ),
    "unknown_guard_rail": Explanation("The guard rail does not exist.", LIST_THEM),
    "unknown_agent": Explanation(
        "The agent does not exist, was deleted, or you do not have permission to read it.",
        "List the agents with GET /api/v1/agents. An agent that gets this response must join again.",
    ),
    "unknown_join_token": Explanation(
        "The join token does not exist or was deleted.", "Create a new one with POST /api/v1/join-tokens."
    ),
    "unknown_provider": Explanation("The service provider does not exist at this agent.", LIST_THEM),
    "unknown_task_type": Explanation("No agent serves or publishes this task type.", LIST_THEM),
    "unknown_dead_letter": Explanation(
        "The dead letter does not exist, or you do not have permission to read it.",
        "List the dead letters with GET /api/v1/dead-letters.",
    ),
    "unknown_resource": Explanation(
        "The resource does not exist, or you do not have permission to read it.",
        "List the resources with GET /api/v1/resources.",
    ),
    "unknown_environment": Explanation("No agent has registered for this environment.", LIST_THEM),
    "unknown_agent_config": Explanation("The agent configuration document does not exist.", LIST_THEM),
    "unknown_grant": Explanation("The grant does not exist.", LIST_THEM),
    "unknown_team": Explanation(
        "The team does not exist, or you do not have permission to read it.", LIST_THEM
    ),
    "unknown_organisation": Explanation(
        "The organisation does not exist, or you do not have permission to read it.",
        "List the organisations with GET /api/v1/organisations.",
    ),
    "unknown_role": Explanation("The role does not exist.", "List the roles with GET /api/v1/roles."),
    "unknown_member": Explanation(
        "The principal is not a member of the team, or its membership comes from an identity provider.",
        "List the members with GET /api/v1/teams/{slug}/members. Change memberships of an identity provider"
        " there.",
    ),
    "unknown_data_plane": Explanation("The data plane does not exist.", LIST_THEM),
    "unknown_agent_config_cluster": Explanation(
        "The cluster is not registered, or the caller is not its principal.",
        "List the clusters with GET /api/v1/agent-config-clusters.",
    ),
    "unknown_bundle": Explanation(
        "The bundle does not exist or is no longer kept.", "List the bundles of the data plane."
    ),
    "unknown_principal": Explanation("The person, service or agent does not exist.", LIST_THEM),
    "unknown_token": Explanation(
        "The token does not exist or was revoked.", "List the tokens, or create one."
    ),
    "unknown_role_binding": Explanation("The role binding does not exist.", LIST_THEM),
    "unknown_trusted_issuer": Explanation(
        "The trusted issuer does not exist.", "List the issuers with GET /api/v1/trusted-issuers."
    ),
    "unknown_oauth_client": Explanation("The OAuth client does not exist.", LIST_THEM),
    "unknown_device": Explanation(
        "No device waits with this code.", "Check the code that the device shows, or start again there."
    ),
    "unknown_client_secret": Explanation("The OAuth client has no such secret.", LIST_THEM),
    "unknown_identity_provider": Explanation(
        "The identity provider does not exist, or it is not active.", LIST_THEM
    ),
    "unknown_identity": Explanation(
        "The identity does not exist, or it was removed.", "List the identities of the person."
    ),
    "unknown_sink": Explanation(
        "The sink does not exist, or you do not have permission to read it.",
        "List the sinks with GET /api/v1/sinks.",
    ),
    "unknown_pool": Explanation(
        "The pool does not exist, or you do not have permission to read it.",
        "List the pools with GET /api/v1/pools.",
    ),
    "unknown_pool_limit": Explanation(
        "The pool has no limit of its own at this scope.",
        "List the limits with GET /api/v1/pools/{pool}/limits.",
    ),
    "unknown_lease": Explanation(
        "The lease does not exist, ended more than an hour ago, or you do not have permission to read it.",
        "List the leases with GET /api/v1/pools/{pool}/leases.",
    ),
    "unknown_delivery": Explanation(
        "The delivery does not exist, is no longer kept, or you do not have permission to read its sink.",
        "List the deliveries of a sink with GET /api/v1/sinks/{id}/deliveries.",
    ),
    "unknown_plugin_config": Explanation(
        "No plugins are configured for this team or the platform, or you may not read them.",
        "Write a configuration with PUT /api/v1/plugin-config.",
    ),
    "unknown_plugin": Explanation(
        "The plugin or this version of it is not in the active release, or you may not read it.",
        "List the plugins with GET /api/v1/plugins.",
    ),
    "unknown_plugin_release": Explanation(
        "The release of plugins does not exist, or you do not have permission to read it.",
        "List the releases with GET /api/v1/plugin-releases.",
    ),
    "unknown_plugin_secret": Explanation(
        "The secret of a plugin provider does not exist.",
        "List the names of the secrets with GET /api/v1/plugin-secrets.",
    ),
    "unknown_plugin_artifact": Explanation(
        "The archive of the plugin is not in the store any more.",
        "Create a release, which fetches it again.",
    ),
    "unknown_job": Explanation(
        "The job does not exist, or you do not have permission to read it.",
        "List the jobs with GET /api/v1/jobs.",
    ),
    "unknown_job_run": Explanation(
        "The job has no such run.",
        "Create the run with POST /api/v1/jobs/{project}/{job}/runs before its input is read.",
    ),
    "unknown_job_secret": Explanation(
        "The secret does not exist.", "List the names of the secrets with GET /api/v1/job-secrets/{project}."
    ),
    "unknown_event_type": Explanation(
        "No event has this type, or its schema has no such version.",
        "List the types with GET /api/v1/event-types.",
    ),
    "unknown_notification_rule": Explanation(
        "The notification rule does not exist, or you do not have permission to read it.",
        "List the rules with GET /api/v1/notification-rules.",
    ),
    "unknown_notification_channel": Explanation(
        "The notification channel does not exist, or you do not have permission to read it.",
        "List the channels with GET /api/v1/notification-channels.",
    ),
    "unknown_alert": Explanation(
        "The alert does not exist, is too old to be kept, or you do not have permission to read it.",
        "List the alerts with GET /api/v1/alerts.",
    ),
}
