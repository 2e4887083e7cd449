"""What each problem code means and what to do about it: the text behind a problem's `type`. Pure.

Codes of our own errors are in `controlplane.errors`; the others are what the framework and the server answer.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Explanation:
    """meaning: what happened. next_step: what the caller does now. Each is one or two sentences."""

    meaning: str
    next_step: str


_SEE_ERRORS = "Correct what `errors` lists: each entry has a JSON pointer, a message and often a hint."
_LIST_THEM = "Check the spelling against the list; `detail` names the closest match where there is one."
_ASK_ADMIN = "Ask an administrator of the scope for a role that allows it."

EXPLANATIONS: dict[str, Explanation] = {
    "invalid_request": Explanation("The body or the query parameters are not valid.", _SEE_ERRORS),
    "malformed_body": Explanation(
        "The body is not valid JSON or YAML, is nested too deeply, or has too many values.",
        "Check the line and column in `errors`, and the Content-Type header.",
    ),
    "body_too_large": Explanation(
        "The body has more bytes than this endpoint accepts.",
        "Split it into several requests. The operator can raise MAX_BODY_BYTES and MAX_BUNDLE_BYTES.",
    ),
    "invalid_cursor": Explanation(
        "The page cursor is damaged or belongs to another list or filter.",
        "Start again without `cursor`, and pass on `next_cursor` unchanged.",
    ),
    "invalid_scope": Explanation(
        "The combination of domain, project, workflow and launch plan is not a scope.",
        "A workflow needs a project and a domain; a launch plan needs a workflow.",
    ),
    "invalid_attributes": Explanation("The attributes do not match their resource type.", _SEE_ERRORS),
    "level_not_allowed": Explanation(
        "The resource type cannot be set at this level of the hierarchy.",
        "Set it at one of the levels in `allowed`.",
    ),
    "inherited_conflict": Explanation(
        "The change is valid by itself, but with inherited values some scopes would resolve to something "
        "invalid.",
        "Look at the scopes in `scopes`, and change the inherited value or the override there first.",
    ),
    "guard_rail_broken": Explanation(
        "A guard rail limits or locks the field at this scope.",
        "Stay within the limit that `errors` names, or ask whoever manages the guard rail to change it.",
    ),
    "invalid_type_definition": Explanation(
        "The definition of the resource type is not valid, or its schema cannot be compiled.", _SEE_ERRORS
    ),
    "invalid_provider": Explanation("The service provider's registration is not valid.", _SEE_ERRORS),
    "confirmation_required": Explanation(
        "The change affects many scopes or removes much, so it has to be confirmed.",
        "Review the plan with dry_run=true, then send the request again with the `confirm` value it shows.",
    ),
    "not_authenticated": Explanation(
        "The request has no valid token or session.",
        "Send `Authorization: Bearer <token>` with a token that has not expired or been revoked.",
    ),
    "permission_denied": Explanation("You do not have permission for this action at this scope.", _ASK_ADMIN),
    "insecure_transport": Explanation(
        "Tokens are accepted over HTTPS only.", "Send the request to the https:// address of the server."
    ),
    "not_found": Explanation(
        "The resource does not exist, or you do not have permission to read it.",
        "Check the path against the API reference at /api/v1/docs, and your roles with GET /api/v1/me.",
    ),
    "unknown_project": Explanation(
        "The project does not exist, or you do not have permission to read it.", _LIST_THEM
    ),
    "unknown_domain": Explanation("The domain does not exist.", _LIST_THEM),
    "unknown_resource_type": Explanation(
        "The resource type does not exist.", "List the types with GET /api/v1/resource-types."
    ),
    "unknown_override": Explanation(
        "Nothing is set at exactly this scope; it may inherit values from above.",
        "Read what applies with GET /api/v1/overrides/effective.",
    ),
    "unknown_version": Explanation(
        "The version or revision does not exist or is no longer kept.",
        "List the versions that exist with the history of the override.",
    ),
    "unknown_guard_rail": Explanation("The guard rail does not exist.", _LIST_THEM),
    "unknown_agent": Explanation(
        "The agent does not exist, was removed, or is outside your permissions.",
        "List the agents with GET /api/v1/agents. An agent that gets this answer joins again.",
    ),
    "unknown_join_token": Explanation(
        "The join token does not exist or was deleted.", "Create a new one with POST /api/v1/join-tokens."
    ),
    "agent_retired": Explanation(
        "The agent was retired, so its heartbeats are not accepted any more.",
        "Stop the agent. To bring the environment back, join as a new agent.",
    ),
    "unknown_provider": Explanation("The agent has no such service provider.", _LIST_THEM),
    "unknown_task_type": Explanation("No agent serves or publishes this task type.", _LIST_THEM),
    "unknown_environment": Explanation("No agent has registered for this environment.", _LIST_THEM),
    "unknown_agent_config": Explanation("The agent configuration document does not exist.", _LIST_THEM),
    "unknown_grant": Explanation("The grant does not exist.", _LIST_THEM),
    "unknown_team": Explanation("The publishing team does not exist.", _LIST_THEM),
    "unknown_data_plane": Explanation("The data plane does not exist.", _LIST_THEM),
    "unknown_bundle": Explanation(
        "The bundle does not exist or is no longer kept.", "List the bundles of the data plane."
    ),
    "invalid_agent_config": Explanation(
        "The agent configuration document cannot be published as it is.", _SEE_ERRORS
    ),
    "unknown_principal": Explanation("The person, service or agent does not exist.", _LIST_THEM),
    "unknown_token": Explanation(
        "The token does not exist or was revoked.", "List the tokens, or create one."
    ),
    "unknown_role_binding": Explanation("The role binding does not exist.", _LIST_THEM),
    "conflict": Explanation(
        "The request conflicts with the present state.", "Read the resource again, then decide."
    ),
    "duplicate_instance": Explanation(
        "Another process with the same agent name and credential sends heartbeats.",
        "Stop one of the two, or register again after `Retry-After` seconds if the other one was stopped.",
    ),
    "name_taken": Explanation("The name is in use already.", "Choose another name, or update what exists."),
    "service_type_taken": Explanation(
        "Another provider of this agent serves the service type.",
        "Remove the service type from the other provider first.",
    ),
    "last_administrator": Explanation(
        "The change would leave nobody who can administer the installation.",
        "Give another principal the role admin first.",
    ),
    "still_in_use": Explanation(
        "Something else depends on it, or stored values would become invalid.",
        "Change or remove what `errors` or `detail` names first.",
    ),
    "patch_failed": Explanation(
        "A JSON Patch names a location that does not exist, or one of its tests failed. Nothing was changed.",
        "Read the override again and make a new patch from what is set now.",
    ),
    "managed_elsewhere": Explanation(
        "Other managers own some of the fields in the request.",
        "Change the fields where they are managed, or take them over with force=true.",
    ),
    "source_is_read_only": Explanation(
        "Overrides are read from files, so the API cannot change them.",
        "Change the file that `detail` names, or set OVERRIDES_SOURCE=db.",
    ),
    "limit_reached": Explanation(
        "A limit on the number or size of resources is reached.",
        "Remove what is not needed, or ask the operator to raise the limit.",
    ),
    "idempotency_key_in_flight": Explanation(
        "A request with the same Idempotency-Key has not finished.",
        "Wait a moment, then repeat the same request with the same key.",
    ),
    "idempotency_key_reused": Explanation(
        "The Idempotency-Key was used for a different request.", "Use a new key for each new request."
    ),
    "version_mismatch": Explanation(
        "The resource changed after you read it, so If-Match does not match.",
        "Read it again, apply your change to the new version, and send the new ETag.",
    ),
    "version_required": Explanation(
        "The resource exists, and replacing or deleting it needs If-Match.",
        "Read it first, and send its ETag in If-Match.",
    ),
    "remote_failed": Explanation(
        "A remote server that the request depends on did not answer correctly.",
        "Check the remote server's address and status, then repeat the request.",
    ),
    "events_gone": Explanation(
        "Events after this position were deleted when their retention ended.",
        "Read the present state of the resources, then follow events from now on.",
    ),
    "too_many_attempts": Explanation(
        "Too many attempts in a short time.", "Wait for the seconds in Retry-After before you try again."
    ),
    "internal_error": Explanation(
        "The server failed unexpectedly; a change was either made completely or not at all.",
        "Repeat the request. If it fails again, give the operator the `request_id`.",
    ),
    "database_unavailable": Explanation(
        "The database did not answer in time, and nothing was changed.",
        "Repeat the request after the seconds in Retry-After.",
    ),
    "bad_request": Explanation("The request could not be read.", "Check its syntax and headers."),
    "unauthorized": Explanation("The request is not authenticated.", "Send a valid bearer token."),
    "forbidden": Explanation("You do not have permission for this request.", _ASK_ADMIN),
    "method_not_allowed": Explanation(
        "The resource exists, and does not support this method.",
        "Use one of the methods in the header Allow.",
    ),
    "not_acceptable": Explanation(
        "The server cannot answer in the media type that Accept names.", "Accept application/json."
    ),
    "unsupported_media_type": Explanation(
        "The endpoint does not read bodies of this media type.",
        "Send JSON with Content-Type: application/json; some endpoints also read application/yaml.",
    ),
    "too_many_requests": Explanation(
        "You sent more requests than are allowed.", "Wait for the seconds in Retry-After."
    ),
}
