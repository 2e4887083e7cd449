"""Identifiers made in bulk."""

from uuid import UUID

from controlplane.ids import uuid7, uuid7_texts


def test_ids_in_bulk_are_distinct_ascending_and_of_version_seven():
    earlier = uuid7()

    texts = uuid7_texts(5000)

    ids = [UUID(text) for text in texts]
    assert [str(identifier) for identifier in ids] == texts
    assert {(identifier.version, identifier.variant) for identifier in ids} == {(7, ids[0].variant)}
    assert ids[0].variant == earlier.variant
    assert ids == sorted(set(ids))
    # Five thousand carry into the second millisecond, and no further.
    assert (ids[-1].int >> 80) - (ids[0].int >> 80) == 1
