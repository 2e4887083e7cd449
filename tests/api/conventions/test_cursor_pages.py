"""Lists by cursor: complete, without doubles, and bound to their question."""

import pytest

from controlplane.api.pages import Total, count_up_to
from controlplane.scopes import Scope
from overrides.models import Project
from tests.support.api_client import Api, make_project, token_for

NAMES = [f"p{number:02}" for number in range(7)]


@pytest.fixture(autouse=True)
def _projects(db):
    for name in NAMES:
        make_project(name)


def walk(api, path):
    items, cursor = [], ""
    while True:
        page = api.get(f"{path}&cursor={cursor}" if cursor else path).json()
        items += [item["id"] for item in page["items"]]
        cursor = page["next_cursor"]
        if not cursor:
            return items


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 100])
def test_walking_the_pages_shows_everything_once_and_in_order(api, limit):
    assert walk(api, f"scopes/projects?limit={limit}") == NAMES


def test_rows_that_come_and_go_while_walking_move_nobody_else(api):
    first = api.get("scopes/projects?limit=3").json()
    make_project("p00a")

    rest = api.get(f"scopes/projects?limit=10&cursor={first['next_cursor']}").json()

    assert [item["id"] for item in rest["items"]] == NAMES[3:]


def test_the_next_page_is_also_a_link(api):
    answer = api.get("scopes/projects?limit=3")

    assert answer["Link"].endswith('rel="next"')
    assert api.get(answer["Link"].partition(">")[0][1:]).json()["items"][0]["id"] == NAMES[3]


def test_a_cursor_is_bound_to_its_question_and_its_reader(api):
    cursor = api.get("scopes/projects?limit=3").json()["next_cursor"]

    answers = [
        api.get(f"scopes/domains?cursor={cursor}"),
        api.get(f"scopes/projects?cursor={cursor}x"),
        api.get("scopes/projects?cursor=rubbish"),
        Api(token_for("viewer")).get(f"scopes/projects?cursor={cursor}"),
    ]

    assert {(answer.status_code, answer.json()["code"]) for answer in answers} == {(400, "invalid_cursor")}


@pytest.mark.parametrize(("limit", "count"), [(0, 7), (1000, 7), (2, 2)])
def test_a_limit_of_nothing_means_the_default_and_too_much_is_lowered(api, limit, count):
    assert len(api.get(f"scopes/projects?limit={limit}").json()["items"]) == count


@pytest.mark.parametrize("limit", ["-1", "x", "1.5"])
def test_a_senseless_limit_is_an_error(api, limit):
    assert api.get(f"scopes/projects?limit={limit}").status_code == 400


def test_a_total_counts_all_pages_and_is_only_given_on_request(api):
    page = api.get("scopes/projects?limit=3&include_total=estimate").json()
    last = api.get(f"scopes/projects?limit=100&include_total=estimate&cursor={page['next_cursor']}").json()

    assert (page["total"], last["total"]) == ({"count": 7, "is_exact": True},) * 2
    assert "total" not in api.get(f"scopes/projects?limit=3&cursor={page['next_cursor']}").json()


def test_a_total_counts_only_what_the_caller_may_read(api):
    reader = Api(token_for("viewer", scope=Scope(project="p01")))

    assert reader.get("scopes/projects?include_total=estimate").json()["total"]["count"] == 1


@pytest.mark.parametrize(("most", "expected"), [(6, (6, False)), (7, (7, True)), (8, (7, True))])
def test_counting_stops_at_the_most(most, expected):
    assert count_up_to(Project.objects.all(), most) == Total(*expected)


@pytest.mark.parametrize("value", ["exact", "", "true"])
def test_another_kind_of_total_is_an_error(api, value):
    answer = api.get(f"scopes/projects?include_total={value}")

    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (400, "?include_total")


def test_the_total_of_roles_includes_the_built_in_ones(api):
    page = api.get("roles?include_total=estimate").json()

    assert page["total"]["count"] == len(page["items"])
