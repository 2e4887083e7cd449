"""Values of labels that users choose: so many and no more."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from controlplane.observability.label_values import OTHER, FirstValues
from registry.dispatch.metrics import add_up_rare


@given(st.lists(st.text(max_size=3)), st.integers(0, 5))
def test_the_first_values_stay_and_the_rest_is_other(values, most):
    known = FirstValues(most)
    labels = [known.label(value) for value in values]

    assert len(set(labels) - {OTHER}) <= most
    assert [known.label(value) for value in values][: len(labels)] == [
        label if label != OTHER else known.label(value) for label, value in zip(labels, values, strict=True)
    ]


ROWS = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.sampled_from(["queued", "deleting"]), st.integers(1, 9))
)


@given(ROWS, st.integers(0, 4))
def test_rare_types_are_added_up_and_none_is_lost(rows, most):
    counts = add_up_rare(rows, most)

    assert sum(counts.values()) == sum(number for *_, number in rows)
    assert len({service_type for service_type, _ in counts} - {OTHER}) <= most
    for state in ("queued", "deleting"):
        assert sum(n for (_, s), n in counts.items() if s == state) == sum(
            n for _, s, n in rows if s == state
        )
