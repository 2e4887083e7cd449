"""Roles and the actions that they allow. Pure. One table, which docs and tests use, holds all permissions."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    VIEWER = "viewer"
    EDITOR = "editor"
    ADMIN = "admin"
    PUBLISHER = "publisher"
    OPERATOR = "operator"
    AUDITOR = "auditor"
    AGENT = "agent"
    # For the principal of a Kubernetes cluster: its admission webhook, and its collector.
    ADMISSION = "admission"
    # For the pods of jobs, which read the input of their run.
    EXECUTOR = "executor"
    # For Alertmanager, which reports alerts.
    NOTIFIER = "notifier"


class Action(StrEnum):
    """Actions of requests. Their values are part of the API (`POST /api/v1/me:can-i`)."""

    SELF_READ = "self.read"
    SELF_WRITE = "self.write"
    OVERRIDE_READ = "override.read"
    OVERRIDE_WRITE = "override.write"
    # Take ownership of values from their manager.
    OVERRIDE_FORCE = "override.force"
    TYPE_WRITE = "type.write"
    RAIL_WRITE = "rail.write"
    # Declare, change and end freezes of overrides; change overrides in spite of a freeze.
    FREEZE_WRITE = "freeze.write"
    FREEZE_OVERRIDE = "freeze.override"
    # Set how many approvals changes of overrides need; approve and reject change requests; change overrides
    # without the approvals, with a reason.
    APPROVAL_WRITE = "approval.write"
    OVERRIDE_APPROVE = "override.approve"
    APPROVAL_BYPASS = "approval.bypass"
    PROJECT_READ = "project.read"
    PROJECT_WRITE = "project.write"
    AGENT_READ = "agent.read"
    AGENT_REGISTER = "agent.register"
    # With a join token, which has its own terms.
    AGENT_JOIN = "agent.join"
    AGENT_HEARTBEAT = "agent.heartbeat"
    AGENT_WRITE = "agent.write"
    AGENT_CONFIG_READ = "agent_config.read"
    # Publish for the role's team; for all teams if the role has none.
    AGENT_CONFIG_PUBLISH = "agent_config.publish"
    # Publish; quarantine, manage data planes and approvals. Without a team also grants and transfers.
    AGENT_CONFIG_RULE = "agent_config.rule"
    # Check as a Kubernetes admission webhook whether a document would be accepted.
    AGENT_CONFIG_ADMIT = "agent_config.admit"
    # Report the agent configurations of a registered cluster, as that cluster.
    AGENT_CONFIG_REPORT = "agent_config.report"
    # Read and acknowledge a data plane's configuration, as that data plane.
    DATA_PLANE_FOLLOW = "data_plane.follow"
    RESOURCE_READ = "resource.read"
    # Request, delete, cancel and retry resources.
    RESOURCE_WRITE = "resource.write"
    # Delete resources by force; replay and discard dead letters.
    DISPATCH_OPERATE = "dispatch.operate"
    # Read configurations, releases and nodes of plugins; change configurations and the secrets of providers;
    # create, activate and roll back releases.
    PLUGIN_READ = "plugin.read"
    PLUGIN_WRITE = "plugin.write"
    PLUGIN_RELEASE = "plugin.release"
    # Read jobs; change jobs, their variables and secrets; create runs.
    JOB_READ = "job.read"
    JOB_WRITE = "job.write"
    JOB_RUN = "job.run"
    # Read the input of a run, which contains secrets.
    RUN_INPUT_READ = "run_input.read"
    # Read pools with their leases; lease units; create and change pools and limits, and revoke leases.
    POOL_READ = "pool.read"
    POOL_USE = "pool.use"
    POOL_WRITE = "pool.write"
    EVENT_READ = "event.read"
    # Read sinks with their deliveries; create, change, test and replay them.
    SINK_READ = "sink.read"
    SINK_WRITE = "sink.write"
    # Read rules, channels and alerts; change them and acknowledge alerts; send through a channel.
    NOTIFICATION_READ = "notification.read"
    NOTIFICATION_WRITE = "notification.write"
    NOTIFICATION_SEND = "notification.send"
    AUDIT_READ = "audit.read"
    ACCESS_READ = "access.read"
    ACCESS_WRITE = "access.write"
    METRICS_READ = "metrics.read"
    # Report alerts as Alertmanager does; report finished backups.
    ALERT_REPORT = "alert.report"
    BACKUP_REPORT = "backup.report"
    # Read what a support bundle has: values of settings, sizes of tables, troubles of all teams.
    SUPPORT_READ = "support.read"


_READS = frozenset(
    {
        Action.OVERRIDE_READ,
        Action.PROJECT_READ,
        Action.AGENT_READ,
        Action.AGENT_CONFIG_READ,
        Action.RESOURCE_READ,
        Action.PLUGIN_READ,
        Action.JOB_READ,
        Action.POOL_READ,
        Action.EVENT_READ,
        Action.METRICS_READ,
        # Webhooks that were set up before the admission role existed are viewers.
        Action.AGENT_CONFIG_ADMIT,
    }
)
_AGENT = frozenset(
    {
        Action.AGENT_REGISTER,
        Action.AGENT_HEARTBEAT,
        Action.AGENT_READ,
        Action.DATA_PLANE_FOLLOW,
        # Without `pool.read`: an agent sees and ends its own leases alone.
        Action.POOL_USE,
    }
)
_EDITS = frozenset(
    {
        Action.AGENT_WRITE,
        Action.AGENT_CONFIG_PUBLISH,
        Action.OVERRIDE_WRITE,
        Action.PROJECT_WRITE,
        Action.RESOURCE_WRITE,
        Action.PLUGIN_WRITE,
        Action.PLUGIN_RELEASE,
        Action.JOB_WRITE,
        Action.JOB_RUN,
    }
)

ALLOWED: dict[Role, frozenset[Action]] = {
    Role.VIEWER: _READS,
    Role.EDITOR: _READS | _AGENT | _EDITS,
    Role.ADMIN: frozenset(Action),
    # Publishes agent configurations for one team: bind it with that team.
    Role.PUBLISHER: frozenset({Action.AGENT_CONFIG_READ, Action.AGENT_CONFIG_PUBLISH, Action.EVENT_READ}),
    # An operator also drains, resumes and rotates agents, which is `agent.heartbeat` for agents themselves.
    Role.OPERATOR: frozenset(
        {
            Action.AGENT_READ,
            Action.AGENT_WRITE,
            Action.AGENT_HEARTBEAT,
            Action.RESOURCE_READ,
            Action.RESOURCE_WRITE,
            Action.DISPATCH_OPERATE,
            Action.PLUGIN_READ,
            Action.PLUGIN_RELEASE,
            Action.POOL_READ,
            Action.POOL_USE,
            Action.POOL_WRITE,
            Action.EVENT_READ,
            Action.SINK_READ,
            Action.SINK_WRITE,
            Action.NOTIFICATION_READ,
            Action.NOTIFICATION_WRITE,
            Action.NOTIFICATION_SEND,
            Action.ALERT_REPORT,
            Action.BACKUP_REPORT,
        }
    ),
    Role.AUDITOR: frozenset({Action.AUDIT_READ, Action.EVENT_READ, Action.ACCESS_READ}),
    Role.AGENT: _AGENT,
    Role.ADMISSION: frozenset({Action.AGENT_CONFIG_ADMIT, Action.AGENT_CONFIG_REPORT}),
    # Bind it to a project.
    Role.EXECUTOR: frozenset({Action.JOB_RUN, Action.RUN_INPUT_READ}),
    Role.NOTIFIER: frozenset({Action.ALERT_REPORT}),
}

# Actions that a role has only if it is limited to a team: an editor publishes for its own team alone, and
# decides which images run for its own team alone.
WITH_TEAM_ONLY: dict[str, frozenset[Action]] = {
    Role.EDITOR: frozenset({Action.AGENT_CONFIG_PUBLISH, Action.PLUGIN_WRITE, Action.PLUGIN_RELEASE})
}

# Actions for everybody with a valid token, whatever their roles.
FOR_EVERYONE = frozenset({Action.SELF_READ, Action.SELF_WRITE, Action.AGENT_JOIN})

# Actions on objects outside of projects and domains: they require a role at the global scope.
INSTALLATION_WIDE = frozenset(
    {
        Action.TYPE_WRITE,
        Action.AGENT_READ,
        Action.AGENT_REGISTER,
        Action.AGENT_HEARTBEAT,
        Action.AGENT_WRITE,
        Action.AGENT_CONFIG_RULE,
        Action.AGENT_CONFIG_ADMIT,
        Action.AGENT_CONFIG_REPORT,
        Action.DATA_PLANE_FOLLOW,
        Action.PLUGIN_READ,
        Action.PLUGIN_WRITE,
        Action.PLUGIN_RELEASE,
        Action.POOL_WRITE,
        Action.SINK_READ,
        Action.SINK_WRITE,
        Action.NOTIFICATION_READ,
        Action.NOTIFICATION_WRITE,
        Action.NOTIFICATION_SEND,
        Action.METRICS_READ,
        Action.ALERT_REPORT,
        Action.BACKUP_REPORT,
        Action.SUPPORT_READ,
    }
)


# Actions on objects that a team can own. A role that is limited to a team allows them on its objects alone.
TEAM_OWNED = frozenset(
    {
        Action.AGENT_READ,
        Action.AGENT_REGISTER,
        Action.AGENT_HEARTBEAT,
        Action.AGENT_WRITE,
        Action.AGENT_CONFIG_READ,
        Action.AGENT_CONFIG_PUBLISH,
        Action.AGENT_CONFIG_RULE,
        Action.AGENT_CONFIG_ADMIT,
        Action.DATA_PLANE_FOLLOW,
        Action.RESOURCE_READ,
        Action.RESOURCE_WRITE,
        Action.DISPATCH_OPERATE,
        Action.PLUGIN_READ,
        Action.PLUGIN_WRITE,
        Action.PLUGIN_RELEASE,
        Action.POOL_READ,
        Action.POOL_USE,
        Action.POOL_WRITE,
        Action.EVENT_READ,
        Action.SINK_READ,
        Action.SINK_WRITE,
        Action.NOTIFICATION_READ,
        Action.NOTIFICATION_WRITE,
        Action.NOTIFICATION_SEND,
        Action.ALERT_REPORT,
        Action.AUDIT_READ,
        Action.ACCESS_READ,
        Action.ACCESS_WRITE,
    }
)

# Administrators of a scope or team may perform these there, in views with `delegated = True`. All other views
# require them at the global scope.
DELEGATED = frozenset({Action.ACCESS_READ, Action.ACCESS_WRITE})
