"""Errors for objects that do not exist, or that the caller may not read. Pure."""

from __future__ import annotations

from controlplane.errors.base import ControlplaneError


class NotFound(ControlplaneError):
    code = "not_found"
    title = "Not found"


class UnknownProject(NotFound):
    code = "unknown_project"
    title = "Project not found"


class UnknownDomain(NotFound):
    code = "unknown_domain"
    title = "Domain not found"


class UnknownResourceType(NotFound):
    code = "unknown_resource_type"
    title = "Resource type not found"


class UnknownOverride(NotFound):
    code = "unknown_override"
    title = "Override not found"


class UnknownVersion(NotFound):
    code = "unknown_version"
    title = "Version not found"


class UnknownOverrideFreeze(NotFound):
    code = "unknown_override_freeze"
    title = "Freeze not found"


class UnknownOverrideChange(NotFound):
    code = "unknown_override_change"
    title = "Scheduled change not found"


class UnknownAgentBulkChange(NotFound):
    code = "unknown_agent_bulk_change"
    title = "Bulk change not found"


class UnknownOperation(NotFound):
    code = "unknown_operation"
    title = "Operation not found"


class UnknownApprovalPolicy(NotFound):
    code = "unknown_approval_policy"
    title = "Approval policy not found"


class UnknownChangeRequest(NotFound):
    code = "unknown_change_request"
    title = "Change request not found"


class UnknownGuardRail(NotFound):
    code = "unknown_guard_rail"
    title = "Guard rail not found"


class UnknownAgent(NotFound):
    code = "unknown_agent"
    title = "Agent not found"


class UnknownJoinToken(NotFound):
    code = "unknown_join_token"
    title = "Join token not found"


class UnknownProvider(NotFound):
    code = "unknown_provider"
    title = "Service provider not found"


class UnknownTaskType(NotFound):
    code = "unknown_task_type"
    title = "Task type not found"


class UnknownEnvironment(NotFound):
    code = "unknown_environment"
    title = "Environment not found"


class UnknownAgentConfig(NotFound):
    code = "unknown_agent_config"
    title = "Agent configuration not found"


class UnknownGrant(NotFound):
    code = "unknown_grant"
    title = "Grant not found"


class UnknownTeam(NotFound):
    code = "unknown_team"
    title = "Team not found"


class UnknownOrganisation(NotFound):
    code = "unknown_organisation"
    title = "Organisation not found"


class UnknownRole(NotFound):
    code = "unknown_role"
    title = "Role not found"


class UnknownMember(NotFound):
    code = "unknown_member"
    title = "Member not found"


class UnknownDataPlane(NotFound):
    code = "unknown_data_plane"
    title = "Data plane not found"


class UnknownAgentConfigCluster(NotFound):
    code = "unknown_agent_config_cluster"
    title = "Cluster not found"


class UnknownBundle(NotFound):
    code = "unknown_bundle"
    title = "Bundle not found"


class UnknownPrincipal(NotFound):
    code = "unknown_principal"
    title = "Principal not found"


class UnknownToken(NotFound):
    code = "unknown_token"
    title = "Token not found"


class UnknownRoleBinding(NotFound):
    code = "unknown_role_binding"
    title = "Role binding not found"


class UnknownTrustedIssuer(NotFound):
    code = "unknown_trusted_issuer"
    title = "Trusted issuer not found"


class UnknownOAuthClient(NotFound):
    code = "unknown_oauth_client"
    title = "OAuth client not found"


class UnknownDevice(NotFound):
    code = "unknown_device"
    title = "Device not found"


class UnknownClientSecret(NotFound):
    code = "unknown_client_secret"
    title = "Client secret not found"


class UnknownIdentityProvider(NotFound):
    code = "unknown_identity_provider"
    title = "Identity provider not found"


class UnknownIdentity(NotFound):
    code = "unknown_identity"
    title = "Identity not found"


class UnknownResource(NotFound):
    code = "unknown_resource"
    title = "Resource not found"


class UnknownDeadLetter(NotFound):
    code = "unknown_dead_letter"
    title = "Dead letter not found"


class UnknownSink(NotFound):
    code = "unknown_sink"
    title = "Sink not found"


class UnknownDelivery(NotFound):
    code = "unknown_delivery"
    title = "Delivery not found"


class UnknownNotificationRule(NotFound):
    code = "unknown_notification_rule"
    title = "Notification rule not found"


class UnknownNotificationChannel(NotFound):
    code = "unknown_notification_channel"
    title = "Notification channel not found"


class UnknownAlert(NotFound):
    code = "unknown_alert"
    title = "Alert not found"


class UnknownEventType(NotFound):
    code = "unknown_event_type"
    title = "Event type not found"


class UnknownPluginConfig(NotFound):
    code = "unknown_plugin_config"
    title = "Plugin configuration not found"


class UnknownPlugin(NotFound):
    code = "unknown_plugin"
    title = "Plugin not found"


class UnknownPluginRelease(NotFound):
    code = "unknown_plugin_release"
    title = "Plugin release not found"


class UnknownPluginSecret(NotFound):
    code = "unknown_plugin_secret"
    title = "Plugin secret not found"


class UnknownPluginArtifact(NotFound):
    code = "unknown_plugin_artifact"
    title = "Plugin artifact not found"


class UnknownJob(NotFound):
    code = "unknown_job"
    title = "Job not found"


class UnknownJobRun(NotFound):
    code = "unknown_job_run"
    title = "Job run not found"


class UnknownJobSecret(NotFound):
    code = "unknown_job_secret"
    title = "Job secret not found"


class UnknownPool(NotFound):
    code = "unknown_pool"
    title = "Pool not found"


class UnknownLease(NotFound):
    code = "unknown_lease"
    title = "Lease not found"


class UnknownPoolLimit(NotFound):
    code = "unknown_pool_limit"
    title = "Limit not found"
