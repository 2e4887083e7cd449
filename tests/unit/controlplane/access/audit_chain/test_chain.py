"""The hash chain by itself."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from hashlib import sha256

from controlplane.access.audit_chain.chain import (
    FIRST_ROOT,
    Chain,
    Link,
    Record,
    Seal,
    canonical,
    check_order,
    find_breaks,
)

AT = datetime(2026, 3, 2, 12, tzinfo=UTC)
DAY = date(2026, 3, 2)
EVER = datetime.min.replace(tzinfo=UTC)
RECORDS = [Record(n, AT + timedelta(minutes=n), {"id": n, "actor": "jane"}) for n in (1, 2, 3)]


def sealed(records: list[Record], before: bytes = FIRST_ROOT) -> tuple[Seal, list[Link]]:
    chain = Chain(before)
    links = [Link(record.id, record.at, chain.add(record)) for record in records]
    return Seal(1, DAY, before, chain.root(1, DAY)), links


def breaks(seal: Seal, links: list[Link], records: list[Record], kept_from: datetime = EVER) -> list[str]:
    segments = [(links, {record.id: record for record in records})]
    return [str(found) for found in find_breaks(seal, segments, kept_from=kept_from)]


def test_each_hash_covers_the_one_before_it_and_the_canonical_record():
    _, links = sealed(RECORDS)

    first = sha256(FIRST_ROOT + b'{"actor":"jane","id":1}').digest()
    assert links[0].hash == first
    assert links[1].hash == sha256(first + b'{"actor":"jane","id":2}').digest()


def test_a_root_covers_the_order_the_previous_root_and_the_day():
    seal, _ = sealed(RECORDS)

    others = [
        sealed([RECORDS[1], RECORDS[0], RECORDS[2]])[0].root,
        sealed(RECORDS, bytes(31) + b"1")[0].root,
        Chain(FIRST_ROOT).root(1, DAY),
        Chain(FIRST_ROOT).root(1, DAY + timedelta(days=1)),
        Chain(FIRST_ROOT).root(2, DAY),
    ]
    assert len({seal.root, *others}) == 6


def test_a_changed_record_with_a_stored_hash_that_was_changed_to_match_is_still_found():
    seal, links = sealed(RECORDS)
    forged = Record(1, RECORDS[0].at, {"id": 1, "actor": "nobody"})
    links[0] = Link(1, forged.at, Chain(FIRST_ROOT).add(forged))

    assert breaks(seal, links, [forged, *RECORDS[1:]]) == ["2026-03-02, record 2: the record was changed"]


def test_a_missing_record_is_a_break_unless_its_month_was_dropped():
    seal, links = sealed(RECORDS)

    assert breaks(seal, links, RECORDS[1:]) == ["2026-03-02, record 1: the record was deleted"]
    assert breaks(seal, links, RECORDS[1:], kept_from=RECORDS[1].at) == []
    moved = [Link(1, EVER, links[0].hash), *links[1:]]
    assert breaks(seal, moved, RECORDS[1:], kept_from=RECORDS[1].at) == ["2026-03-02: the seal was changed"]


def test_a_seal_continues_the_one_before_it():
    first = Seal(1, DAY, FIRST_ROOT, b"a" * 32)

    assert check_order(first, None) == ""
    assert check_order(Seal(2, DAY, b"a" * 32, b""), first) == ""
    assert check_order(Seal(2, DAY, b"b" * 32, b""), first) == "the seal does not continue the one before it"
    assert check_order(Seal(2, DAY, FIRST_ROOT, b""), None) == "the seal before it is missing"


def test_null_is_left_out_so_that_a_new_column_changes_no_hash():
    assert canonical({"id": 1, "new": None}) == canonical({"id": 1})
    assert canonical({"id": 1, "after": "é"}) == '{"after":"é","id":1}'.encode()
