"""Changes of effective values, leaf by leaf."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cpctl.effective_leaves import changes, leaves, origin

GLOBAL = {"kind": "override", "scope": {}, "version": 3, "changed_by": "ada"}


def answer(**values):
    found = [{"pointer": f"/{name}", "value": value, "source": GLOBAL} for name, value in values.items()]
    return leaves({"items": [{"resource_type": "task_resource", "leaves": found}]})


def test_a_line_says_what_changed_and_who_sets_it_now():
    lines = [change.line() for change in changes(answer(cpu="1", gpu="2"), answer(cpu="4", memory="1Gi"))]

    assert lines == [
        "~ task_resource /cpu: 1 → 4   global v3 by ada",
        "- task_resource /gpu: 2",
        "+ task_resource /memory: 1Gi   global v3 by ada",
    ]
    assert origin({"source": {"kind": "platform_default"}}) == "platform default"


def test_the_same_value_from_elsewhere_is_no_change_and_true_is_not_one():
    elsewhere = {place: {**leaf, "source": {**GLOBAL, "version": 4}} for place, leaf in answer(cpu=1).items()}

    assert changes(answer(cpu=1), elsewhere) == []
    assert len(changes(answer(on=True), answer(on=1))) == 1
    assert len(changes(answer(cpu="1"), answer(cpu=1))) == 1


VALUES = st.dictionaries(st.sampled_from("abcde"), st.one_of(st.integers(0, 3), st.booleans(), st.text()))


@given(VALUES, VALUES)
def test_changes_lead_from_one_answer_to_the_other(before, after):
    old, new = answer(**before), answer(**after)
    made = dict(old)
    for change in changes(old, new):
        place = (change.resource_type, change.pointer)
        if change.after is None:
            del made[place]
        else:
            made[place] = change.after

    assert made == new
    assert changes(new, new) == []
