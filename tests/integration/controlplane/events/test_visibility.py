"""Which events a caller may read: in SQL, in streams, and as rights change."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from controlplane.access import principals, role_bindings
from controlplane.access.models import RoleBinding
from controlplane.access.teams.teams import create_team
from controlplane.access.visible_audit import visible_records
from controlplane.events import log, types
from controlplane.events.audiences import declared_kinds, kind_of
from controlplane.events.event_filter import EVERYTHING, EventFilter, EventRight, teams_in
from controlplane.events.models import Event
from controlplane.events.visibility import event_filter_for, readable_events
from controlplane.identity.callers import Caller
from controlplane.identity.grants import Grant
from controlplane.identity.roles import Role
from controlplane.scopes import Scope
from overrides.projects import ProjectFields, update_project
from registry.agent_configs.event_types import CONFIG_PUBLISHED
from registry.agent_configs.team_models import PublishingTeam
from tests.integration.controlplane.endpoints.events.test_streams import Stream, poll
from tests.support.api_client import ACTOR, Api, make_principal, make_project, token_for
from tests.support.properties import examples

SCOPES = [Scope(), Scope(domain="d"), Scope(project="p"), Scope("d", "p"), Scope(project="q")]
TYPES = ["project.created", "token.created", "agent_config.removed", "agent_config_claim.transferred"]
TEAMS = ["ours", "rival", "third"]
_some_scopes = st.lists(st.sampled_from(SCOPES), max_size=3).map(tuple)
OWNERS = [None, UUID(int=1), UUID(int=2)]
_some_types = st.frozensets(st.sampled_from(TYPES), min_size=1)
_rights = st.builds(EventRight, _some_types, _some_scopes, st.sampled_from(OWNERS))
_sights = st.builds(
    EventFilter, st.lists(_rights, max_size=3).map(tuple), st.frozensets(st.sampled_from(TEAMS))
)


def caller(*grants: Grant, name: str = "somebody") -> Caller:
    return Caller(None, name, "service", grants)


@pytest.fixture
def every_event(db: None) -> list[Event]:
    """One event for each type, scope and choice of teams that it names."""
    named: list[dict[str, str]] = [{}, {"team": "ours"}, {"team": "rival"}]
    named += [{"from_team": "ours", "to_team": "rival"}, {"from_team": "third", "to_team": "ours"}]
    return Event.objects.bulk_create(
        [
            Event(
                type=name,
                object_type="x",
                object_id="x",
                actor="a",
                data=data,
                team_id=owner,
                **scope.segments,
            )
            for name in TYPES
            for scope in SCOPES
            for data in named
            for owner in OWNERS
        ]
    )


@settings(examples(40, nightly=2_000), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sight=st.one_of(_sights, st.just(EVERYTHING)))
def test_sql_and_python_agree_on_what_is_visible(every_event, sight):
    expected = {
        event.id
        for event in every_event
        if sight.shows(
            event.type,
            Scope(event.domain, event.project, event.workflow, event.launch_plan),
            teams_in(event.data),
            event.team_id,
        )
    }

    assert set(readable_events(sight).values_list("id", flat=True)) == expected


def test_every_kind_of_event_says_who_may_read_it():
    kinds = {kind_of(event_type.name) for event_type in types.registered()}

    missing = kinds - declared_kinds()
    assert missing == set(), "declare_audience(kind, action) in the app's event_types.py"


@pytest.mark.django_db
def test_administrators_read_everything_and_others_what_their_roles_read():
    assert event_filter_for(caller(Grant(Role.ADMIN, Scope()))) == EVERYTHING
    assert event_filter_for(caller()) == EventFilter()

    viewer = event_filter_for(caller(Grant(Role.VIEWER, Scope())))
    assert viewer.shows("agent.registered", Scope(), ())
    assert viewer.shows("agent_config_bundle.held", Scope(), ())
    for hidden in ("token.created", "role.bound", "principal.created", "join_token.created", "no.such"):
        assert not viewer.shows(hidden, Scope(), ())

    rival = create_team("rival", actor=ACTOR)
    PublishingTeam.objects.create(team=rival, organisation="rival-inc")
    third = create_team("third", actor=ACTOR)
    PublishingTeam.objects.create(team=third, organisation="third-inc")
    publisher = event_filter_for(caller(Grant(Role.VIEWER, Scope()), Grant(Role.PUBLISHER, team=rival.ref)))
    assert publisher.shows("agent_config.removed", Scope(), ("rival",))
    assert not publisher.shows("agent_config.removed", Scope(), ("third",))
    # A bundle is made of what all teams publish.
    assert not publisher.shows("agent_config_bundle.held", Scope(), ())


@pytest.mark.django_db
def test_an_administrator_of_a_project_audits_what_can_be_read_there():
    make_project("mine")
    make_project("other")
    person = make_principal(name="secret-person")
    role_bindings.bind_role(person, Role.VIEWER, Scope(project="mine"), actor=ACTOR)

    visible = visible_records(caller(Grant(Role.ADMIN, Scope(project="mine"))))
    assert {(record.action, record.project) for record in visible} == {
        ("project.created", "mine"),
        ("role.bound", "mine"),
    }
    everything = visible_records(caller(Grant(Role.ADMIN, Scope())))
    assert {record.project for record in everything} == {"mine", "other"}
    assert {"role.bound", "project.created"} <= {record.action for record in everything}


@transaction.atomic
def publish(team: str, name: str) -> None:
    data = {"source": "api", "team": team, "name": name, "generation": 1, "valid": True}
    log.append(CONFIG_PUBLISHED, "agent_config", f"{team}/{name}", data=data, actor="x")


def test_streams_and_polls_withhold_what_lists_withhold_and_notice_new_rights(live: Any):
    admin = Api(token_for("admin"))
    admin.put("agent-config-teams/rival", {"publishers": [], "organisation": "rival-inc"})
    viewer = token_for("viewer")
    stream = Stream(live, viewer, "?object_type=agent_config")
    news = iter(stream)
    next(news)

    publish("rival", "one")
    publish("free", "two")
    assert told_names(news) == "free/two"

    # From now on the team is hidden, and the other is not.
    admin.put("agent-config-teams/free", {"publishers": [], "organisation": "free-inc"})
    admin.put("agent-config-teams/rival", {"publishers": [], "organisation": ""}, If_Match='"v1"')
    publish("free", "three")
    publish("rival", "four")
    assert told_names(news) == "rival/four"
    stream.close()

    after = log.last_number()
    publish("free", "five")
    page = poll(live, viewer, f"?after={after}&wait=1")
    assert (page["items"], page["next_after"]) == ([], after + 1)


def test_a_stream_goes_on_with_fewer_rights_when_a_role_is_taken_away(live: Any):
    make_project("mine")
    reader = make_principal("viewer")
    role_bindings.bind_role(reader, Role.VIEWER, Scope(project="mine"), actor=ACTOR)
    _, secret = principals.create_token(reader, name="t", expires_at=None, actor=ACTOR)
    stream = Stream(live, secret, "?object_type=project")
    news = iter(stream)
    next(news)
    make_project("seen")
    assert told_names(news) == "seen"

    RoleBinding.objects.filter(principal=reader, **Scope().segments).delete()
    make_project("hidden")
    update_project("mine", ProjectFields(description="x"), actor=ACTOR)

    assert told_names(news) == "mine"
    stream.close()


def told_names(news: Any) -> str:
    """The object of the next event that is no bookmark."""
    return str(next(data["object_id"] for _, name, data in news if name != "bookmark"))
