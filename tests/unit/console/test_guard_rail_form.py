"""The form of a guard rail means the body that it was made from."""

from hypothesis import given
from hypothesis import strategies as st

from console.overrides.guard_rail_form import body_of, describe_rule, form_of, read_form
from overrides.documents.guard_rails import rail_document
from overrides.models import GuardRailRow

amounts = st.one_of(st.integers(-5, 10**9), st.sampled_from(["500m", "2Gi", "0.5", "1e3", "true", "null"]))
rules = st.fixed_dictionaries(
    {},
    optional={
        "minimum": amounts,
        "maximum": amounts,
        "allowed": st.lists(
            st.one_of(
                st.integers(0, 99),
                st.sampled_from(["HIGH", "low", "a b", "8", "no", "a, b", "[x]", "#1", "", "k: v"]),
            ),
            min_size=1,
            max_size=4,
        ),
        "lock_below": st.sampled_from(["project", "domain"]),
    },
)


@given(rules)
def test_a_form_means_what_it_shows(rule):
    row = GuardRailRow(
        name="cap", resource_type="task_resource", pointer="/limits/cpu", rule=rule, project="ads"
    )

    body = body_of(form_of(row))

    assert body["rule"] == rule
    assert body["scope"] == {"project": "ads"}
    assert body.keys() | {"reason"} == rail_document(row).keys()


def test_limits_in_words():
    rule = {"minimum": 1, "maximum": "2Gi", "allowed": ["HIGH", 3], "lock_below": "project"}

    assert describe_rule(rule) == "at least 1; at most 2Gi; one of HIGH, 3; locked below the level project"


def test_missing_fields_are_empty():
    assert set(read_form({}).values()) == {""}
