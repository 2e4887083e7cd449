"""What can go wrong, in the domain's words. Pure: `controlplane.api.problems` alone knows HTTP.

ControlplaneError
├── InvalidRequest          one or many FieldErrors
│   ├── InvalidScope, InvalidAttributes, InvalidTypeDefinition
├── LevelNotAllowed, InheritedConflict, RailBroken, ConfirmationRequired, InvalidProvider
├── NotAuthenticated, PermissionDenied
├── NotFound                UnknownProject, UnknownDomain, UnknownResourceType, UnknownOverride,
│                           UnknownAgent, UnknownProvider, UnknownTaskType, UnknownEnvironment,
│                           UnknownJoinToken, UnknownAgentConfig, UnknownPrincipal, ...
├── Conflict                NameTaken, DuplicateInstance, ServiceTypeTaken, StillInUse, ManagedElsewhere,
│                           SourceIsReadOnly, LimitReached, KeyInFlight, PatchFailed
└── InvalidAgentConfig, VersionMismatch, VersionRequired, AgentRetired, EventsGone, RemoteFailed, KeyReused
"""

from __future__ import annotations

from uuid import UUID

from controlplane.errors.base import ControlplaneError as ControlplaneError
from controlplane.errors.field_error import FieldError as FieldError


class InvalidRequest(ControlplaneError):
    code = "invalid_request"
    title = "The request is not valid"


class MalformedBody(ControlplaneError):
    code = "malformed_body"
    title = "The body cannot be read"


class BodyTooLarge(ControlplaneError):
    code = "body_too_large"
    title = "The body is too large"


class InvalidCursor(ControlplaneError):
    code = "invalid_cursor"
    title = "The page cursor cannot be used"


class InvalidScope(ControlplaneError):
    code = "invalid_scope"
    title = "The scope has no legal shape"


class InvalidAttributes(ControlplaneError):
    code = "invalid_attributes"
    title = "The attributes do not fit their resource type"


class LevelNotAllowed(ControlplaneError):
    code = "level_not_allowed"
    title = "The type cannot be set at this level"


class InheritedConflict(ControlplaneError):
    code = "inherited_conflict"
    title = "What some scopes inherit would not be valid"


class RailBroken(ControlplaneError):
    code = "guard_rail_broken"
    title = "A guard rail does not allow this"


class InvalidTypeDefinition(ControlplaneError):
    code = "invalid_type_definition"
    title = "This is not a resource type"


class InvalidProvider(ControlplaneError):
    code = "invalid_provider"
    title = "This cannot be a service provider"


class ConfirmationRequired(ControlplaneError):
    code = "confirmation_required"
    title = "This changes what applies at many scopes"


class NotAuthenticated(ControlplaneError):
    code = "not_authenticated"
    title = "We do not know who you are"


class PermissionDenied(ControlplaneError):
    code = "permission_denied"
    title = "You may not do this"


class InsecureTransport(ControlplaneError):
    code = "insecure_transport"
    title = "Plain HTTP is refused"


class NotFound(ControlplaneError):
    code = "not_found"
    title = "Not found"


class UnknownProject(NotFound):
    code = "unknown_project"
    title = "No such project"


class UnknownDomain(NotFound):
    code = "unknown_domain"
    title = "No such domain"


class UnknownResourceType(NotFound):
    code = "unknown_resource_type"
    title = "No such resource type"


class UnknownOverride(NotFound):
    code = "unknown_override"
    title = "Nothing is set here"


class UnknownVersion(NotFound):
    code = "unknown_version"
    title = "There was no such version"


class UnknownGuardRail(NotFound):
    code = "unknown_guard_rail"
    title = "No such guard rail"


class UnknownAgent(NotFound):
    code = "unknown_agent"
    title = "No such agent"


class UnknownJoinToken(NotFound):
    code = "unknown_join_token"
    title = "No such join token"


class AgentRetired(ControlplaneError):
    code = "agent_retired"
    title = "This agent has left"


class UnknownProvider(NotFound):
    code = "unknown_provider"
    title = "No such service provider"


class UnknownTaskType(NotFound):
    code = "unknown_task_type"
    title = "No such task type"


class UnknownEnvironment(NotFound):
    code = "unknown_environment"
    title = "No such environment"


class UnknownAgentConfig(NotFound):
    code = "unknown_agent_config"
    title = "No such document"


class UnknownGrant(NotFound):
    code = "unknown_grant"
    title = "No such grant"


class UnknownTeam(NotFound):
    code = "unknown_team"
    title = "No such team"


class UnknownDataPlane(NotFound):
    code = "unknown_data_plane"
    title = "No such data plane"


class UnknownBundle(NotFound):
    code = "unknown_bundle"
    title = "No such bundle"


class InvalidAgentConfig(ControlplaneError):
    code = "invalid_agent_config"
    title = "The document cannot be published"


class UnknownPrincipal(NotFound):
    code = "unknown_principal"
    title = "No such principal"


class UnknownToken(NotFound):
    code = "unknown_token"
    title = "No such token"


class UnknownRoleBinding(NotFound):
    code = "unknown_role_binding"
    title = "No such role binding"


class Conflict(ControlplaneError):
    code = "conflict"
    title = "This conflicts with what exists"


class NameTaken(Conflict):
    code = "name_taken"
    title = "The name is taken"


class DuplicateInstance(Conflict):
    """agent_id, instance: who was refused, for whoever notes it. The answer has `retry_after` in seconds."""

    code = "duplicate_instance"
    title = "Another process has this name"
    agent_id: UUID
    instance: UUID


class ServiceTypeTaken(Conflict):
    code = "service_type_taken"
    title = "Another provider serves this type"


class LastAdministrator(Conflict):
    code = "last_administrator"
    title = "Nobody would be left to administer"


class StillInUse(Conflict):
    code = "still_in_use"
    title = "It is still in use"


class ManagedElsewhere(Conflict):
    code = "managed_elsewhere"
    title = "Somebody else manages this field"


class PatchFailed(Conflict):
    code = "patch_failed"
    title = "The patch does not fit what is set"


class SourceIsReadOnly(Conflict):
    code = "source_is_read_only"
    title = "Overrides come from files"


class LimitReached(Conflict):
    code = "limit_reached"
    title = "That would be too many"


class KeyInFlight(Conflict):
    code = "idempotency_key_in_flight"
    title = "A request with this key is under way"


class KeyReused(ControlplaneError):
    code = "idempotency_key_reused"
    title = "This key was used for another request"


class VersionMismatch(ControlplaneError):
    code = "version_mismatch"
    title = "It changed since you read it"


class VersionRequired(ControlplaneError):
    code = "version_required"
    title = "Say which version you mean"


class RemoteFailed(ControlplaneError):
    code = "remote_failed"
    title = "The other side did not answer as it should"


class EventsGone(ControlplaneError):
    code = "events_gone"
    title = "These events are gone"


class TooManyAttempts(ControlplaneError):
    code = "too_many_attempts"
    title = "Too many requests"
