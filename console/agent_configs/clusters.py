"""The page of registered clusters, and the pages that register, change and remove one."""

from __future__ import annotations

from collections.abc import Mapping

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from console.confirmations import Change, Field, confirm_change
from console.cpctl_commands import cpctl, curl
from console.forms import form_version, parse_form, split_words
from console.pages import actor_of, page
from controlplane.database.clock import database_now
from controlplane.errors import ConfirmationRequired
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.preconditions import Precondition
from registry.agent_configs.sources.registered.clusters import (
    ClusterSpec,
    count_documents,
    get_readable_cluster,
    put_cluster,
    readable_clusters,
    remove_cluster,
)
from registry.api.agent_configs.cluster_schemas import ClusterWrite, show_cluster

_REASON = Field("reason", "Reason", hint="Kept in the audit log.")
_EXAMPLE = ("eu-prod", "--principal", "cluster-eu-prod", "--namespace", "acme")


@page
def clusters(request: HttpRequest, caller: Caller) -> HttpResponse:
    caller.require_for_some_owner(Action.AGENT_CONFIG_READ)
    rows = readable_clusters(caller)
    counts = count_documents([row.name for row in rows])
    context = {
        "tab": "clusters",
        "clusters": [show_cluster(row, counts.get(row.name, 0), caller) for row in rows],
        "now": database_now(),
        "may_manage": caller.verdict(Action.AGENT_CONFIG_RULE).allowed,
        "first": cpctl("agent-configs", "clusters", "set", *_EXAMPLE),
        "copies": {
            "curl": curl(request, "GET", "agent-config-clusters"),
            "cpctl": cpctl("agent-configs", "clusters", "list"),
        },
    }
    return render(request, "console/agent_configs/clusters.html", context)


@page
def edit(request: HttpRequest, caller: Caller, name: str = "") -> HttpResponse:
    """Register a cluster, or change its principal and namespaces."""
    caller.require(Action.AGENT_CONFIG_RULE)
    row = get_readable_cluster(name, caller) if name else None
    change = Change(
        f"Edit cluster {name}" if name else "Register a cluster",
        (
            "The cluster's collector reports with the token of the principal.",
            "Documents of namespaces that are no longer listed are deleted with the next report.",
        ),
        "Save cluster" if name else "Register cluster",
        reverse("agent-config-clusters"),
        "Cluster saved.",
        (
            # Somebody else's change since then is not overwritten.
            Field("version", "", "hidden", value=str(row.version))
            if row
            else Field("name", "Name", hint="Such as eu-prod.", required=True),
            Field(
                "principal",
                "Principal",
                value=row.principal if row else "",
                hint="A service that reports for this cluster alone.",
                required=True,
            ),
            Field(
                "namespaces",
                "Namespaces",
                value=", ".join(row.namespaces) if row else "",
                hint="Separated by commas, each a team; * means all.",
                required=True,
            ),
            _REASON,
        ),
        {"cpctl": cpctl("agent-configs", "clusters", "set", *((name, *_EXAMPLE[1:]) if name else _EXAMPLE))},
    )

    def act(form: Mapping[str, str]) -> None:
        namespaces = split_words(form.get("namespaces", ""))
        body = parse_form(
            ClusterWrite, {"principal": form.get("principal", "").strip(), "namespaces": namespaces}
        )
        spec = ClusterSpec(body["principal"], tuple(body["namespaces"]))
        actor = actor_of(caller, form.get("reason", ""))
        precondition = Precondition(
            versions=frozenset({form_version(form)}) if name else None, must_be_new=not name
        )
        put_cluster(name or form.get("name", "").strip(), spec, actor=actor, precondition=precondition)

    return confirm_change(request, change, act)


@page
def remove(request: HttpRequest, caller: Caller, name: str) -> HttpResponse:
    caller.require(Action.AGENT_CONFIG_RULE)
    row = get_readable_cluster(name, caller)
    count = count_documents([name]).get(name, 0)
    fields = (Field("documents", f"Type {count} to confirm", required=True),) if count else ()
    change = Change(
        f"Remove cluster {row.name}?",
        (f"Published documents that are deleted with it: {count}.", "Its collector's reports are refused."),
        "Remove cluster",
        reverse("agent-config-clusters"),
        f"Removed {row.name}.",
        (*fields, _REASON),
        {
            "curl": curl(request, "DELETE", f"agent-config-clusters/{name}", version=row.version),
            "cpctl": cpctl("agent-configs", "clusters", "remove", name),
        },
        is_destructive=True,
    )

    def act(form: Mapping[str, str]) -> None:
        actor = actor_of(caller, form.get("reason", ""))
        try:
            remove_cluster(name, actor=actor)
        except ConfirmationRequired as refusal:
            if form.get("documents", "").strip() != str(count):
                raise
            remove_cluster(name, actor=actor, confirm=refusal.members["confirm"])

    return confirm_change(request, change, act)
