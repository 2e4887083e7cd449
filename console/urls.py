"""Pages of the console. What has a page of a section's name appears in the navigation."""

from django.contrib.auth.views import LogoutView
from django.urls import path

from console import dashboard, search
from console.access import join_tokens, role_bindings, tokens
from console.agent_configs import checking, conflicts, documents, planes
from console.fleet import actions, agent, environments, guards, task_types
from console.fleet import pages as fleet
from console.login import LoginPage
from console.overrides import pages as overrides
from console.records import audit, events

# A document of a folder may lie in a folder of its own.
_DOCUMENT = "<str:source>/<str:team>/<path:name>"

urlpatterns = [
    path("", dashboard.dashboard, name="dashboard"),
    path("overrides", overrides.effective, name="overrides"),
    path("agents", fleet.agents, name="agents"),
    path("agents/<uuid:agent_id>", agent.agent, name="agent"),
    path("agents/<uuid:agent_id>/approve", actions.approve, name="agent-approve"),
    path("agents/<uuid:agent_id>/drain", actions.drain, name="agent-drain"),
    path("agents/<uuid:agent_id>/resume", actions.resume, name="agent-resume"),
    path("agents/<uuid:agent_id>/retire", actions.retire, name="agent-retire"),
    path("agents/<uuid:agent_id>/remove", actions.remove, name="agent-remove"),
    path("environments", environments.environments, name="environments"),
    path("fleet-guards", guards.guards, name="guards"),
    path("fleet-guards/overrule", guards.ruling, name="guard-ruling"),
    path("task-types", task_types.task_types, name="task-types"),
    path("task-types/<str:name>", task_types.task_type, name="task-type"),
    path("agent-configs", documents.documents, name="agent-configs"),
    path("agent-configs/conflicts", conflicts.conflicts, name="agent-config-conflicts"),
    path("agent-configs/conflicts/hand-over", conflicts.hand_over, name="agent-config-transfer"),
    path("agent-configs/give-up", conflicts.give_up, name="agent-config-release"),
    path("agent-configs/try", checking.check, name="agent-config-check"),
    path("agent-configs/folder", documents.folder, name="agent-config-folder"),
    path("agent-configs/planes", planes.planes, name="data-planes"),
    path("agent-configs/planes/<str:name>", planes.plane, name="data-plane"),
    path("agent-configs/planes/<str:name>/approve", planes.approval, name="data-plane-approval"),
    path("agent-configs/planes/<str:name>/<int:revision>", planes.bundle, name="bundle"),
    path(f"agent-configs/leave-out/{_DOCUMENT}", documents.leave_out, name="agent-config-quarantine"),
    path(f"agent-configs/let-in/{_DOCUMENT}", documents.let_in, name="agent-config-readmit"),
    path(f"agent-configs/documents/{_DOCUMENT}", documents.document, name="agent-config"),
    path("audit", audit.audit, name="audit"),
    path("events", events.events, name="events"),
    path("tokens", tokens.tokens, name="tokens"),
    path("tokens/<uuid:token_id>/revoke", tokens.revoke, name="token-revoke"),
    path("role-bindings", role_bindings.role_bindings, name="role-bindings"),
    path("role-bindings/<uuid:binding_id>/remove", role_bindings.take_away, name="role-binding-remove"),
    path("join-tokens", join_tokens.join_tokens, name="join-tokens"),
    path("join-tokens/<uuid:token_id>/revoke", join_tokens.revoke, name="join-token-revoke"),
    path("search", search.search, name="search"),
    path("login", LoginPage.as_view(), name="login"),
    path("logout", LogoutView.as_view(next_page="login"), name="logout"),
]
