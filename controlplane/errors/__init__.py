"""What can go wrong, in the domain's words. Pure: `controlplane.api.problems` alone knows HTTP.

ControlplaneError
├── InvalidRequest          one or many FieldErrors
│   ├── InvalidScope, InvalidAttributes, InvalidTypeDefinition
├── LevelNotAllowed, InheritedConflict, RailBroken, ConfirmationRequired, InvalidProvider
├── NotAuthenticated
├── PermissionDenied        StepUpRequired
├── NotFound                UnknownProject, UnknownDomain, UnknownResourceType, UnknownOverride,
│                           UnknownAgent, UnknownProvider, UnknownTaskType, UnknownEnvironment,
│                           UnknownJoinToken, UnknownAgentConfig, UnknownPrincipal, UnknownTrustedIssuer, ...
├── Conflict                NameTaken, DeliveryLoop, ReleaseNotUsable, DuplicateInstance, ServiceTypeTaken,
│                           StillInUse, ManagedElsewhere, SourceIsReadOnly, LimitReached, QuotaExceeded,
│                           KeyInFlight, PatchFailed, TokenInUse, LeaseLost, ApprovalRequired, PlanDrifted
└── InvalidAgentConfig, VersionMismatch, VersionRequired, AgentRetired, EventsGone, RemoteFailed, KeyReused,
    PoolExhausted, SecretsUnavailable, IssuerUnavailable, LoginRefused, RedirectNotAllowed, SettingIsReadOnly
"""

from __future__ import annotations

from uuid import UUID

from controlplane.errors.access import NotAuthenticated as NotAuthenticated
from controlplane.errors.access import PermissionDenied as PermissionDenied
from controlplane.errors.access import SecretsUnavailable as SecretsUnavailable
from controlplane.errors.access import StepUpRequired as StepUpRequired
from controlplane.errors.base import ControlplaneError as ControlplaneError
from controlplane.errors.field_error import FieldError as FieldError
from controlplane.errors.login import InvalidIdentityProvider as InvalidIdentityProvider
from controlplane.errors.login import LoginRefused as LoginRefused
from controlplane.errors.login import RedirectNotAllowed as RedirectNotAllowed
from controlplane.errors.login import SettingIsReadOnly as SettingIsReadOnly
from controlplane.errors.login import TooManyGroups as TooManyGroups
from controlplane.errors.not_found import *  # noqa: F403  (one name for each object that may be missing)


class InvalidRequest(ControlplaneError):
    code = "invalid_request"
    title = "Invalid request"


class MalformedBody(ControlplaneError):
    code = "malformed_body"
    title = "Malformed body"


class BodyTooLarge(ControlplaneError):
    code = "body_too_large"
    title = "Body too large"


class InvalidCursor(ControlplaneError):
    code = "invalid_cursor"
    title = "Invalid page cursor"


class InvalidScope(ControlplaneError):
    code = "invalid_scope"
    title = "Invalid scope"


class InvalidAttributes(ControlplaneError):
    code = "invalid_attributes"
    title = "Invalid attributes"


class LevelNotAllowed(ControlplaneError):
    code = "level_not_allowed"
    title = "Level not allowed"


class InheritedConflict(ControlplaneError):
    code = "inherited_conflict"
    title = "Conflict with inherited values"


class RailBroken(ControlplaneError):
    code = "guard_rail_broken"
    title = "Blocked by a guard rail"


class InvalidTypeDefinition(ControlplaneError):
    code = "invalid_type_definition"
    title = "Invalid resource type definition"


class InvalidProvider(ControlplaneError):
    code = "invalid_provider"
    title = "Invalid service provider"


class ConfirmationRequired(ControlplaneError):
    code = "confirmation_required"
    title = "Confirmation required"


class NotIndependent(ControlplaneError):
    code = "not_independent"
    title = "Reviewer is not independent"


class InsecureTransport(ControlplaneError):
    code = "insecure_transport"
    title = "HTTPS required"


class AgentRetired(ControlplaneError):
    code = "agent_retired"
    title = "Agent retired"


class InvalidAgentConfig(ControlplaneError):
    code = "invalid_agent_config"
    title = "Invalid agent configuration"


class Conflict(ControlplaneError):
    code = "conflict"
    title = "Conflict with the current state"


class NameTaken(Conflict):
    code = "name_taken"
    title = "Name already in use"


class ReleaseNotUsable(Conflict):
    code = "release_not_usable"
    title = "Release not usable"


class DeliveryLoop(Conflict):
    code = "delivery_loop"
    title = "Webhook comes back"


class DuplicateInstance(Conflict):
    """agent_id, instance: of the rejected process. The response has `retry_after` in seconds."""

    code = "duplicate_instance"
    title = "Duplicate agent instance"
    agent_id: UUID
    instance: UUID


class ServiceTypeTaken(Conflict):
    code = "service_type_taken"
    title = "Service type already served"


class LastAdministrator(Conflict):
    code = "last_administrator"
    title = "Last administrator"


class BuiltInRole(Conflict):
    code = "built_in_role"
    title = "Built-in role"


class OrganisationsOff(Conflict):
    code = "organisations_off"
    title = "Organisations are off"


class StillInUse(Conflict):
    code = "still_in_use"
    title = "Still in use"


class ManagedElsewhere(Conflict):
    code = "managed_elsewhere"
    title = "Field managed by another manager"


class PatchFailed(Conflict):
    code = "patch_failed"
    title = "Patch not applicable"


class SourceIsReadOnly(Conflict):
    code = "source_is_read_only"
    title = "Managed by files"


class ChangeFrozen(Conflict):
    """freezes: those that refuse the change, each with id, scope, ends_at, reason and created_by."""

    code = "change_frozen"
    title = "Overrides are frozen"


class ApprovalRequired(Conflict):
    """policies: those that hold the change, each with id, scope, approvals and created_by.

    required, approvals: how many approvals are needed, and how many there are.
    """

    code = "approval_required"
    title = "Approval required"


class PlanDrifted(Conflict):
    """digest: of the plan that is current now."""

    code = "plan_drifted"
    title = "Plan is out of date"


class LimitReached(Conflict):
    code = "limit_reached"
    title = "Limit reached"


class QuotaExceeded(Conflict):
    """quota: its name. limit, used: of its scope; requested: how many more there would be."""

    code = "quota_exceeded"
    title = "Quota exceeded"


class KeyInFlight(Conflict):
    code = "idempotency_key_in_flight"
    title = "Idempotency key in flight"


class KeyReused(ControlplaneError):
    code = "idempotency_key_reused"
    title = "Idempotency key reused"


class VersionMismatch(ControlplaneError):
    code = "version_mismatch"
    title = "Version mismatch"


class VersionRequired(ControlplaneError):
    code = "version_required"
    title = "If-Match required"


class RemoteFailed(ControlplaneError):
    code = "remote_failed"
    title = "Remote server failed"


class IssuerUnavailable(ControlplaneError):
    """The keys of an issuer are unknown and cannot be fetched, so its tokens cannot be checked."""

    code = "issuer_unavailable"
    title = "Issuer unavailable"


class EventsGone(ControlplaneError):
    code = "events_gone"
    title = "Events no longer available"


class TokenInUse(Conflict):
    code = "token_in_use"
    title = "Token in use"


class LeaseLost(Conflict):
    code = "lease_lost"
    title = "Lease lost"


class PoolExhausted(ControlplaneError):
    """limits: those that leave no room, each with scope, reason, cap and used units."""

    code = "pool_exhausted"
    title = "Pool exhausted"


class TooManyAttempts(ControlplaneError):
    code = "too_many_attempts"
    title = "Too many requests"
