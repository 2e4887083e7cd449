"""Explanations of problem codes: what each means and how to solve it. Pure.

Codes of our own errors are in `controlplane.errors`; the others come from the framework and the server.
"""

from __future__ import annotations

from controlplane.api.explanations import Explanation
from controlplane.api.missing_objects import MISSING_OBJECTS

_SEE_ERRORS = "Correct what `errors` lists: each entry has a JSON pointer, a message and often a hint."
_ASK_ADMIN = "Ask an administrator of the scope for a role that allows it."

EXPLANATIONS: dict[str, Explanation] = {
    **MISSING_OBJECTS,
    "invalid_request": Explanation("The body or a query parameter is invalid.", _SEE_ERRORS),
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
        "Start again without `cursor`, and send each `next_cursor` back unchanged.",
    ),
    "invalid_scope": Explanation(
        "The combination of domain, project, workflow and launch plan is not a valid scope.",
        "A workflow needs a project and a domain; a launch plan needs a workflow.",
    ),
    "invalid_attributes": Explanation("The attributes do not match their resource type.", _SEE_ERRORS),
    "level_not_allowed": Explanation(
        "The resource type cannot be set at this level of the hierarchy.",
        "Set it at one of the levels in `allowed`.",
    ),
    "inherited_conflict": Explanation(
        "The change is valid by itself, but in combination with inherited values some scopes would"
        " have invalid effective values.",
        "Check the scopes in `scopes`, and change the inherited value or the override there first.",
    ),
    "guard_rail_broken": Explanation(
        "A guard rail limits or locks the field at this scope.",
        "Use a value within the limit in `errors`, or ask an administrator to change the guard rail.",
    ),
    "invalid_type_definition": Explanation(
        "The definition of the resource type is invalid, or its schema cannot be compiled.", _SEE_ERRORS
    ),
    "invalid_provider": Explanation("The service provider's registration is invalid.", _SEE_ERRORS),
    "confirmation_required": Explanation(
        "The change affects many scopes or removes many objects, so it requires confirmation.",
        "Review the plan with dry_run=true, then send the request again with its `confirm` value.",
    ),
    "not_authenticated": Explanation(
        "The request has no valid token or session.",
        "Send `Authorization: Bearer <token>` with a token that has not expired or been revoked.",
    ),
    "insufficient_user_authentication": Explanation(
        "The action is sensitive, and your login is not recent enough for it.",
        "Log in again, then repeat the request. `max_age` is the longest accepted age in seconds.",
    ),
    "permission_denied": Explanation("You do not have permission for this action at this scope.", _ASK_ADMIN),
    "release_not_usable": Explanation(
        "The release of plugins is not ready, has ended, or one of its archives is gone.",
        "Read the release for its state and message, or create another release.",
    ),
    "pool_exhausted": Explanation(
        "The pool has no free units for the request, or a limit of one of its scopes leaves no room.",
        "Wait as long as Retry-After says, or send the request with `wait_seconds` to queue. "
        "`limits` names what leaves no room; POST /api/v1/pools/{pool}:explain shows all limits.",
    ),
    "token_in_use": Explanation(
        "The token holds a lease of another number of units, or waits for one.",
        "Release that lease first, or use another token.",
    ),
    "lease_lost": Explanation(
        "The lease ended, or was granted again: its epoch differs.",
        "Stop the work that the lease protects, then request a new lease.",
    ),
    "delivery_loop": Explanation(
        "A webhook of this control plane caused the request, which would cause the next webhook.",
        "Have the webhook's receiver leave out the header X-Controlplane-Loop in its own requests.",
    ),
    "insecure_transport": Explanation(
        "Tokens are accepted only over HTTPS.", "Send the request to the https:// address of the server."
    ),
    "not_found": Explanation(
        "The resource does not exist, or you do not have permission to read it.",
        "Check the path against the API reference at /api/v1/docs, and your roles with GET /api/v1/me.",
    ),
    "agent_retired": Explanation(
        "The agent was retired, so its heartbeats are no longer accepted.",
        "Stop the agent. To bring the environment back, join as a new agent.",
    ),
    "invalid_agent_config": Explanation(
        "The agent configuration document is invalid and cannot be published.", _SEE_ERRORS
    ),
    "conflict": Explanation(
        "The request conflicts with the current state of the resource.",
        "Read the resource again, and adapt the request.",
    ),
    "duplicate_instance": Explanation(
        "Another process with the same agent name and credential sends heartbeats.",
        "Stop one of the two processes. If the other one is already stopped, register again after"
        " `Retry-After` seconds.",
    ),
    "name_taken": Explanation(
        "The name is already in use.", "Choose another name, or update the existing resource."
    ),
    "service_type_taken": Explanation(
        "Another provider of this agent already serves the service type.",
        "Remove the service type from the other provider first.",
    ),
    "last_administrator": Explanation(
        "The change would leave the installation without an administrator.",
        "Give another principal the role admin first.",
    ),
    "built_in_role": Explanation(
        "Built-in roles cannot be changed or deleted.",
        "Create a role of your own with POST /api/v1/roles.",
    ),
    "organisations_off": Explanation(
        "This installation has one organisation.",
        "Use teams to separate people and objects, or set ORGANISATIONS=on.",
    ),
    "still_in_use": Explanation(
        "Other resources depend on it, or stored values would become invalid.",
        "Change or delete the resources in `errors` or `detail` first.",
    ),
    "patch_failed": Explanation(
        "A location in the JSON Patch does not exist, or one of its tests failed. Nothing was changed.",
        "Read the override again, and create a new patch from its current values.",
    ),
    "managed_elsewhere": Explanation(
        "Other managers own some of the fields in the request.",
        "Change the fields through their manager, or take ownership with force=true.",
    ),
    "source_is_read_only": Explanation(
        "Overrides are read from files, so the API cannot change them.",
        "Change the file named in `detail`, or set OVERRIDES_SOURCE=db.",
    ),
    "change_frozen": Explanation(
        "A freeze covers the scope: its overrides may not change for now. `freezes` has each freeze with its"
        " scope, end, reason and author.",
        "Wait until `ends_at`, or ask who declared the freeze. With the permission `freeze.override` at the"
        " freeze's scope, send override_freeze=<reason>.",
    ),
    "approval_required": Explanation(
        "Changes of overrides at the scope need approvals. `policies` has each policy with its scope and "
        "number; `required` is the largest number.",
        "Open a change request: POST /api/v1/change-requests. With the permission `approval.bypass` at the "
        "policy's scope, send approval_override=<reason>.",
    ),
    "plan_drifted": Explanation(
        "The override or the effective values are different from those in the plan of the change request.",
        "Refresh the change request, and have the new plan approved.",
    ),
    "not_independent": Explanation(
        "The reviewer is the author of the change, stands behind the author, or is no person.",
        "Ask another person with the permission `override.approve` to approve it, with a login or token that "
        "the author did not create.",
    ),
    "limit_reached": Explanation(
        "A limit on the number or size of resources has been reached.",
        "Delete resources that you no longer need, or ask the operator to raise the limit.",
    ),
    "quota_exceeded": Explanation(
        "There would be more than a quota allows. `quota`, `limit`, `used` and `requested` say which and how "
        "many; nothing was created.",
        "Delete what nobody needs, or ask an operator to raise the quota.",
    ),
    "idempotency_key_in_flight": Explanation(
        "A request with the same Idempotency-Key is still running.",
        "Wait a second, then send the same request with the same key again.",
    ),
    "idempotency_key_reused": Explanation(
        "The Idempotency-Key was used for a different request.", "Use a new key for each new request."
    ),
    "version_mismatch": Explanation(
        "The resource has changed since you read it, so If-Match does not match.",
        "Read it again, apply your change to the current version, and send its ETag in If-Match.",
    ),
    "version_required": Explanation(
        "The resource exists, and replacing or deleting it requires If-Match.",
        "Read it first, and send its ETag in If-Match.",
    ),
    "login_refused": Explanation(
        "The login at the identity provider succeeded, but its answer is not acceptable here.",
        "Read `detail`. Start the login again; if it is refused again, ask your operator.",
    ),
    "too_many_groups": Explanation(
        "The identity provider left out the groups because the account has too many.",
        "Ask your operator to use app roles (`roles` claim) instead of groups.",
    ),
    "redirect_not_allowed": Explanation(
        "The URL to return to after login or logout is at another site.",
        "Use a path of this server. The operator can allow other origins with LOGIN_REDIRECT_ORIGINS.",
    ),
    "invalid_identity_provider": Explanation(
        "The configuration of the identity provider is invalid.", _SEE_ERRORS
    ),
    "setting_is_read_only": Explanation(
        "The object is configured by the operator in a file or an environment variable.",
        "Ask the operator to change it there.",
    ),
    "secrets_unavailable": Explanation(
        "The server cannot encrypt or decrypt stored secrets: its key file is missing, invalid, or lacks a"
        " key.",
        "Ask the operator to correct the file in the setting SECRETS_KEY_FILE; `detail` says what is wrong.",
    ),
    "remote_failed": Explanation(
        "A remote server did not respond as expected.",
        "Check the remote server's address and status, then send the request again.",
    ),
    "issuer_unavailable": Explanation(
        "The token's issuer does not respond, and the server does not know its signing keys.",
        "Send the request again after a minute. The operator can check the issuer's address and status.",
    ),
    "events_gone": Explanation(
        "The events after this position have expired and were deleted.",
        "Read the current state of the resources, then follow events from now on.",
    ),
    "too_many_attempts": Explanation(
        "You sent too many requests or attempts in a short time.",
        "Wait for the seconds in Retry-After before you try again.",
    ),
    "internal_error": Explanation(
        "An unexpected error occurred on the server. A change was made either completely or not at all.",
        "Send the request again. If it fails again, give the `request_id` to the operator.",
    ),
    "database_unavailable": Explanation(
        "The database did not respond in time. Nothing was changed.",
        "Send the request again after the seconds in Retry-After.",
    ),
    "read_only": Explanation(
        "The database accepts no changes: a failover or maintenance is under way. Reads work. If an operator"
        " has paused changes, `detail` says why.",
        "Send the request again after the seconds in Retry-After.",
    ),
    "outcome_unknown": Explanation(
        "The connection to the database ended, or no standby confirmed the change in time. It may have been"
        " saved or not.",
        "Repeat the request with the same Idempotency-Key: it takes effect once. Without a key, read the"
        " current state first.",
    ),
    "bad_request": Explanation("The request is malformed.", "Check its syntax and headers."),
    "unauthorized": Explanation("The request is not authenticated.", "Send a valid bearer token."),
    "forbidden": Explanation("You do not have permission for this request.", _ASK_ADMIN),
    "method_not_allowed": Explanation(
        "The resource does not support this method.",
        "Use one of the methods in the Allow header.",
    ),
    "not_acceptable": Explanation(
        "The server cannot respond in a media type that the Accept header allows.",
        "Send Accept: application/json.",
    ),
    "unsupported_media_type": Explanation(
        "The endpoint does not support bodies of this media type.",
        "Send JSON with Content-Type: application/json. Some endpoints also support application/yaml.",
    ),
    "request_timeout": Explanation(
        "The head or the body of the request arrived too slowly.",
        "Send it again on a new connection.",
    ),
    "request_header_fields_too_large": Explanation(
        "The request line and headers are larger than 16 KiB.",
        "Send fewer or shorter headers.",
    ),
    "too_many_requests": Explanation(
        "You sent too many requests in a short time.",
        "Wait for the seconds in Retry-After before you try again.",
    ),
}
