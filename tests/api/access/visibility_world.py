"""Two neighbours with a marker in every name of theirs, and callers who may read one, both or neither."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models.functions import Now

from controlplane.access import principals, role_bindings
from controlplane.access.login.oidc.models import Identity
from controlplane.access.models import Principal, PrincipalKind, Session
from controlplane.access.role_bindings import BindingTerms
from controlplane.access.team_models import Team
from controlplane.access.teams.teams import create_team, get_team
from controlplane.database.clock import database_now
from controlplane.delivery.models import Delivery, Sink, SinkProgress
from controlplane.delivery.signing import SigningSecret, new_secret
from controlplane.delivery.sink_secrets import set_signing_secrets
from controlplane.identity.roles import Role
from controlplane.messaging.models import DeadLetter
from controlplane.notifications.models import Alert, NotificationRule
from controlplane.pools.models import Pool
from controlplane.scopes import Scope
from registry.plugin_releases.config_changes import write_secret
from registry.plugin_releases.models import PluginArtifact, PluginRelease
from registry.plugin_releases.release_changes import activate
from tests.support.api_client import ACTOR, AGENT, Api
from tests.support.plugin_repository import PluginRepository
from tests.support.plugin_sets import document, entry, released

# What stands in every name of a thing of its kind, and nowhere else.
SCOPE_A, SCOPE_B = "zqscopea", "zqscopeb"
TEAM_A, TEAM_B = "zqteama", "zqteamb"
ACCESS, FLEET, GROUP = "zqaccess", "zqfleet", "zqgroup"
KINDS = (SCOPE_A, SCOPE_B, TEAM_A, TEAM_B, ACCESS, FLEET, GROUP)
CONTESTED = "contested_task"
ABSENT = "zqabsent"
_ABSENT_ID = "019a9f5e-7c00-7000-8000-00000000dead"


@dataclass(frozen=True, slots=True)
class Reader:
    """A caller, and the kinds of marker that no answer to it may contain.

    asks: "reads", "writes" or both. What an editor reads is what a viewer reads, and a viewer writes nothing.
    has_roles: without any, nothing is looked up before the refusal.
    """

    name: str
    api: Api
    hidden: frozenset[str]
    asks: tuple[str, ...] = ("reads", "writes")
    has_roles: bool = True
    principal: str = ""


@dataclass(frozen=True, slots=True)
class World:
    """present: names of B's things, by what they are. absent: names of nothing."""

    readers: tuple[Reader, ...]
    present: dict[str, str]
    absent: dict[str, str]


def make_world(admin: Api) -> World:
    present = {"plane": "eu", "doc": "doc", "revision": "", "version": "1"}
    _make_scopes(admin, present)
    _make_fleet(admin, present)
    people = _make_access(admin, present)
    _make_teams(admin, people, present)
    _make_sink(present)
    _make_pools(admin, present)
    _make_alert(present)
    _make_plugins(present)
    people |= _make_team_members()
    return World(_readers(admin, people), present, _absent(present))


def config_text(team: str, task: str) -> str:
    return (
        "plugins:\n  agent-service:\n    agents:\n"
        f"      {team}-agent:\n        endpoint: {team}.svc.cluster.local:8000\n        insecure: true\n"
        f"    supportedTaskTypes:\n    - {team}_task\n    - {task}\n"
    )


def _done(answer: Any) -> Any:
    assert answer.status_code < 300, answer.content
    return answer.json() if answer.content else None


def _make_scopes(admin: Api, present: dict[str, str]) -> None:
    for marker in (SCOPE_A, SCOPE_B):
        _done(admin.post("scopes/projects", {"id": marker, "description": f"{marker} description"}))
        place = f"project={marker}&domain=development&workflow={marker}-flow"
        for memory in ("1Gi", "2Gi"):
            path = f"overrides/task_resource?{place}&change_message={marker}-why"
            etag = admin.get(f"overrides/task_resource?{place}").get("ETag", "")
            headers = {"If_Match": etag} if etag else {}
            _done(admin.put(path, {"attributes": {"defaults": {"memory": memory}}}, **headers))
        rail = {"name": f"{marker}-rail", "scope": {"project": marker}, "resource_type": "task_resource"}
        rail |= {"pointer": "/limits/cpu", "rule": {"maximum": "64"}, "reason": f"{marker} reason"}
        _done(admin.put(f"guard-rails/{marker}-rail", rail))
        freeze = {"scope": {"project": marker}, "reason": f"{marker} freeze"}
        freeze |= {"starts_at": "2998-01-01T00:00:00Z", "ends_at": "2999-01-01T00:00:00Z"}
        present["freeze"] = _done(admin.post("override-freezes", freeze))["id"]
        change = {"scope": {"project": marker}, "resource_type": "task_resource", "attributes": {}}
        change |= {"at": "2997-01-01T00:00:00Z", "message": f"{marker} change"}
        present["change"] = _done(admin.post("override-changes", change))["id"]
        policy = {"scope": {"project": marker}, "approvals": 1, "reason": f"{marker} policy"}
        present["policy"] = _done(admin.post("approval-policies", policy))["id"]
        wanted = {
            "scope": {"project": marker},
            "resource_type": "cluster_resource",
            "patch": {"attributes": {"a": "b"}},
        }
        present["request"] = _done(admin.post("change-requests", {**wanted, "message": f"{marker} request"}))[
            "id"
        ]
        # No agent offers storage: its agent would be in the answers too.
        resource = {"service_type": "storage", "spec": {"name": f"{marker}-disk"}, "project": marker}
        _done(admin.post(f"resources?id={marker}-resource", resource))
        _make_job(admin, marker, present)
    present["resource"] = f"{SCOPE_B}-resource"
    present["job"] = f"{SCOPE_B}-job"
    present |= {"project": SCOPE_B, "workflow": f"{SCOPE_B}-flow", "rail": f"{SCOPE_B}-rail"}
    present["revision"] = str(admin.get("overrides/revisions").json()["items"][1]["revision"])


def _make_job(admin: Api, marker: str, present: dict[str, str]) -> None:
    """A job of the project, with a variable, a secret and a run."""
    _done(admin.put(f"jobs/{marker}/{marker}-job", {"text": job_text(f"{marker}-job")}))
    _done(admin.put(f"job-variables/{marker}", {"variables": {"NAME": f"{marker}-value"}}))
    _done(admin.put(f"job-secrets/{marker}/{marker}_secret", {"value": f"{marker} value"}))
    run = {"scheduled_at": "2026-11-24T02:00:00Z", "external_id": f"{marker}-run"}
    _done(admin.post(f"jobs/{marker}/{marker}-job/runs", run))
    present["job_secret"] = f"{marker}_secret"


def job_text(name: str) -> str:
    return f"""version: 2
name: {name}
owner: {name}-owner
schedule: {{start_date: "2026-11-01"}}
task: {{name: bq, config: {{}}}}
"""


def _make_fleet(admin: Api, present: dict[str, str]) -> None:
    body = {
        **AGENT,
        "name": f"{FLEET}-1",
        "environment": f"{FLEET}-env",
        "topic_name": f"dcm.agent.{FLEET}-1",
    }
    agent = _done(admin.post("agents", {**body, "task_types": [{"name": f"{FLEET}_served", "version": "1"}]}))
    provider = {"name": f"{FLEET}-provider", "endpoint": "http://x:1/vms", "service_type": "vm"}
    path = f"agents/{agent['agent_id']}/providers"
    made = _done(admin.post(path, {**provider, "schema_version": "v1"}))
    subject = f"dcm.agents.{FLEET}.responses"
    letter = {"stream": "dcm-agent-responses", "sequence": 1, "subject": subject, "reason": f"{FLEET} reason"}
    present["letter"] = str(DeadLetter.objects.create(**letter, payload=FLEET.encode()).id)
    bulk: dict[str, Any] = {"selector": {"environment": f"{FLEET}-env"}, "reason": f"{FLEET} reason"}
    present["bulk_change"] = _done(admin.post("agents:drain", {**bulk, "allow_last_agents": True}))["id"]
    present |= {"agent": agent["agent_id"], "provider": made["id"], "environment": f"{FLEET}-env"}


def _make_access(admin: Api, present: dict[str, str]) -> dict[str, Principal]:
    """The callers have plain names: whoever changes something is named beside it."""
    person = f"{ACCESS}-person"
    _done(admin.post("principals", {"name": person, "kind": "service"}))
    token = _done(admin.post("tokens", {"name": f"{ACCESS}-token", "principal": person}))
    binding = {"principal": person, "role": "viewer", "scope": {"project": SCOPE_B}}
    bound = _done(admin.post("role-bindings", binding))
    join = _done(admin.post("join-tokens", {"name": f"{ACCESS}-join", "name_pattern": f"{ACCESS}-*"}))
    present |= {"principal": person, "token": token["id"], "binding": bound["id"], "join": join["id"]}
    _done(admin.post("teams", {"slug": GROUP, "title": f"{GROUP} title"}))
    _done(admin.put(f"teams/{GROUP}/members/{person}", None))
    _done(admin.post("role-bindings", {"team": GROUP, "role": "viewer", "scope": {"project": SCOPE_B}}))
    present["group"] = GROUP
    owner = Principal.objects.get(name=person)
    times = {"expires_at": Now() + timedelta(hours=1), "browser": f"{ACCESS} browser"}
    present["session"] = str(Session.objects.create(principal=owner, digest=b"x" * 32, data="", **times).id)
    _make_logins(admin, person, present)
    a, b, everywhere = Scope(project=SCOPE_A), Scope(project=SCOPE_B), Scope()
    return {
        "nobody": _principal("nobody"),
        "viewer of A": _principal("va", (Role.VIEWER, a)),
        "editor of A": _principal("ea", (Role.EDITOR, a)),
        "administrator of A": _principal("aa", (Role.ADMIN, a)),
        "publisher of A": _principal("pa", (Role.EDITOR, a)),
        "viewer of B": _principal("vb", (Role.VIEWER, b)),
        "editor of everything": _principal("ee", (Role.EDITOR, everywhere)),
        "agent": _principal("ag", (Role.AGENT, everywhere)),
    }


def _make_logins(admin: Api, person: str, present: dict[str, str]) -> None:
    """An identity provider, a trusted issuer and a client: what only administrators of everything see."""
    url = f"https://{ACCESS}.example"
    _done(admin.put(f"identity-providers/{ACCESS}-idp", {"issuer": url, "client_id": "console"}))
    rule = {"match": {"sub": f"{ACCESS}-subject"}, "audience": url, "principal": person}
    issuer = {"issuer": url, "audiences": [url], "rules": [rule]}
    trusted = _done(admin.post("trusted-issuers", issuer))
    client = {"client_id": f"{ACCESS}-client", "grants": ["client_credentials"], "principal": person}
    _done(admin.post("oauth-clients", {**client, "scopes": ["read"], "default_scopes": ["read"]}))
    secret = _done(admin.post(f"oauth-clients/{ACCESS}-client/secrets", {}))
    owner = Principal.objects.get(name=person)
    identity = Identity.objects.create(principal=owner, issuer=url, subject=f"{ACCESS}-subject")
    present |= {"provider_slug": f"{ACCESS}-idp", "trusted": trusted["id"], "client": f"{ACCESS}-client"}
    present |= {"secret": secret["id"], "identity": str(identity.id)}


def _principal(name: str, *roles: tuple[Role, Scope]) -> Principal:
    principal = principals.create_principal(name, kind=PrincipalKind.SERVICE, actor=ACTOR)
    for role, scope in roles:
        role_bindings.bind_role(principal, role, scope, actor=ACTOR)
    return principal


def _make_teams(admin: Api, people: dict[str, Principal], present: dict[str, str]) -> None:
    _done(admin.put("data-planes/eu", {}))
    publishers = {TEAM_A: people["publisher of A"].name, TEAM_B: people["viewer of B"].name}
    # B is first, so it has the contested task type.
    for team in (TEAM_B, TEAM_A):
        team_body = {"organisation": f"{team}-org", "publishers": [publishers[team]]}
        _done(admin.put(f"agent-config-teams/{team}", team_body))
        grant = {"team": team, "kind": "task_type", "pattern": f"{team}_*"}
        present.setdefault("grant", _done(admin.post("agent-config-grants", grant))["id"])
        text = config_text(team, CONTESTED)
        _done(admin.put(f"agent-configs/{team}/doc?change_message={team}-why", {"text": text}))
        _done(admin.post("agent-config-claims:pin", {"name": f"{team}_task", "team": team}))
    _principal(f"{TEAM_B}-cluster", (Role.ADMISSION, Scope()))
    cluster = {"principal": f"{TEAM_B}-cluster", "namespaces": [TEAM_B]}
    _done(admin.put(f"agent-config-clusters/{TEAM_B}-cluster", cluster))
    present["cluster"] = f"{TEAM_B}-cluster"
    bundles = admin.get("agent-config-bundles").json()["items"]
    present |= {"team": TEAM_B, "task": f"{TEAM_B}_task", "bundle": str(bundles[0]["revision"])}


def _make_sink(present: dict[str, str]) -> None:
    """A sink of team B with a delivery. Its address is refused, so that nothing leaves."""
    creator = Principal.objects.get(name="vb")
    sink = Sink.objects.create(
        name=f"{TEAM_B}-sink",
        kind="webhook",
        team=get_team(TEAM_B),
        config={"url": f"https://127.0.0.1:9/{TEAM_B}"},
        filter={"teams": [TEAM_B]},
        created_by=creator,
        cursor_seq=0,
    )
    SinkProgress.objects.create(sink=sink)
    set_signing_secrets(sink, [SigningSecret(new_secret())], database_now())
    sink.save()
    delivery = Delivery.objects.create(
        sink=sink, seq=1, event_id=sink.id, type="agent.ready", key=f"agent/{TEAM_B}", state="dead"
    )
    present |= {"sink": str(sink.id), "delivery": str(delivery.id)}


def _make_pools(admin: Api, present: dict[str, str]) -> None:
    """A pool of a team, for readers of everything, and one of the platform that project B leases from."""
    Pool.objects.create(name=f"{FLEET}-pool", capacity=1, team=Team.objects.create(slug="pool-owners"))
    _done(admin.put("pools/shared", {"capacity": 9}))
    _done(admin.put(f"pools/shared/limits?project={SCOPE_B}", {"cap": 5}, If_Match="*"))
    body = {"token": f"{SCOPE_B}-work", "scope": {"project": SCOPE_B}}
    lease = _done(admin.post("pools/shared/leases", body))
    present |= {"pool": f"{FLEET}-pool", "lease": lease["id"]}


def _make_alert(present: dict[str, str]) -> None:
    """A rule of team B with an alert and a channel."""
    creator = Principal.objects.get(name="vb")
    channel = Sink.objects.create(
        name=f"{TEAM_B}-channel",
        kind="email",
        team=get_team(TEAM_B),
        config={"to": [f"{TEAM_B}@example.com"]},
        created_by=creator,
        cursor_seq=0,
    )
    SinkProgress.objects.create(sink=channel)
    rule = NotificationRule.objects.create(
        name=f"{TEAM_B}-rule", team=get_team(TEAM_B), to=[str(channel.id)], created_by=creator
    )
    alert = Alert.objects.create(
        rule=rule,
        key_hash="x",
        severity="info",
        event_type="agent.unavailable",
        event_seq=1,
        object_type="agent",
        object_id="1",
        title=f"{TEAM_B} is silent",
        first_at=database_now(),
        last_at=database_now(),
    )
    present |= {"alert_rule": str(rule.id), "channel": str(channel.id), "alert": str(alert.id)}


def _make_plugins(present: dict[str, str]) -> None:
    """Plugins of a team that only callers without limits to a project or team read."""
    team = create_team(f"{FLEET}-team", actor=ACTOR)
    plugin = entry("web", f"{FLEET}-plugin", "sha256:" + "a" * 64)
    release = released(document(PluginRepository(f"https://{FLEET}.example.com"), plugin), team)
    row = release.plugins.get()
    row.artifact = PluginArtifact.objects.create(
        plugin_set=release.plugin_set,
        sha256="a" * 64,
        file_name=f"{FLEET}-plugin.tar.gz",
        tree="b" * 64,
        size=1,
        url=f"https://{FLEET}.example.com/x.tar.gz",
    )
    row.save()
    PluginRelease.objects.filter(id=release.id).update(state="ready")
    activate(release.id, actor=ACTOR)
    write_secret(release.plugin_set, f"{FLEET}-secret", "value", actor=ACTOR)
    present["plugin_team"] = team.slug
    present |= {"plugin_release": str(release.id), "plugin": row.name, "plugin_secret": f"{FLEET}-secret"}


def _make_team_members() -> dict[str, Principal]:
    """Callers whose role is limited to the objects of team A."""
    terms = BindingTerms(owned_by=get_team(TEAM_A))
    members = {}
    for role in (Role.VIEWER, Role.EDITOR, Role.PUBLISHER, Role.OPERATOR, Role.AUDITOR, Role.ADMIN):
        member = _principal(f"limited-{role}")
        role_bindings.bind_role(member, role, Scope(), actor=ACTOR, terms=terms)
        members[f"{role} for team A"] = member
    return members


def _readers(admin: Api, people: dict[str, Principal]) -> tuple[Reader, ...]:
    everything = frozenset(KINDS)
    sees = {
        "viewer of A": {SCOPE_A},
        "editor of A": {SCOPE_A},
        "administrator of A": {SCOPE_A},
        "publisher of A": {SCOPE_A, TEAM_A},
        "viewer of B": {SCOPE_B, TEAM_B},
        "editor of everything": {SCOPE_A, SCOPE_B, FLEET},
        "agent": {FLEET},
        **{f"{role} for team A": {TEAM_A} for role in Role},
    }
    asks = {
        "viewer for team A": ("reads",),
        "auditor for team A": ("reads",),
        # What these read, an administrator of the team reads.
        "editor for team A": ("writes",),
        "publisher for team A": ("writes",),
        "operator for team A": ("writes",),
        "viewer of A": ("reads",),
        "viewer of B": ("reads",),
        "editor of A": ("writes",),
    }
    readers = [Reader("anonymous", Api(), everything, has_roles=False)]
    for name, principal in people.items():
        _, secret = principals.create_token(principal, name="test", expires_at=None, actor=ACTOR)
        visible = sees.get(name, set())
        how = asks.get(name, ("reads", "writes"))
        hidden, has_roles = everything - visible, name in sees
        api = Api(secret)
        # Other requests are rolled back, and would all write again when the token was last used.
        api.get("me")
        readers.append(Reader(name, api, hidden, how, has_roles, principal.name))
    return (*readers, Reader("administrator", admin, frozenset()))


def _absent(present: dict[str, str]) -> dict[str, str]:
    """Names of the same form, of nothing."""
    ids = ("agent", "letter", "provider", "token", "binding", "join", "grant", "session")
    ids += ("trusted", "secret", "identity", "sink", "delivery", "alert_rule", "channel", "alert")
    ids += ("plugin_release", "lease", "freeze", "change", "policy", "request", "bulk_change")
    numbers = {"version": "987654", "revision": "987654", "bundle": "987654"}
    named = {name: ABSENT for name in present if name not in (*ids, *numbers)}
    return {**named, "task": f"{ABSENT}_task", **dict.fromkeys(ids, _ABSENT_ID), **numbers}
