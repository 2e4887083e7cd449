"""Alertmanager's reports: which are news, and how much of them is kept."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from controlplane.notifications.alertmanager_alerts import AlertPhase, ReportedAlert, data_of, news

FIRING = ReportedAlert("f1", True, {"alertname": "DiskFull"}, starts_at="2026-11-22T09:30:00Z")
reports = st.lists(
    st.builds(
        ReportedAlert,
        fingerprint=st.sampled_from(["a", "b"]),
        is_firing=st.booleans(),
        labels=st.just({}),
        starts_at=st.sampled_from(["t1", "t2"]),
    ),
    max_size=8,
)


def test_a_repetition_is_no_news_and_an_end_or_another_beginning_is():
    heard = {"f1": FIRING.phase}
    assert news([FIRING, replace(FIRING, annotations={"summary": "97 %"})], heard) == []
    ended = replace(FIRING, is_firing=False)
    again = replace(FIRING, starts_at="2026-11-22T10:00:00Z")
    assert news([ended, ended, again], heard) == [ended, again]


@given(reports)
def test_saying_it_all_again_in_one_breath_is_no_news(alerts):
    heard: dict[str, AlertPhase] = {}
    for alert in alerts:
        fresh = news([alert], heard)
        heard |= {one.fingerprint: one.phase for one in fresh}
        assert news([alert], heard) == []
    # One report of all of them says the same as one report for each.
    assert {one.fingerprint: one.phase for one in news(alerts, {})} == heard


@given(
    st.dictionaries(st.text(max_size=200), st.text(alphabet=st.characters(), max_size=2000), max_size=60),
)
def test_texts_of_strangers_are_bounded_and_can_be_stored(labels):
    data = data_of(replace(FIRING, labels={**labels, "alertname": "DiskFull"}, annotations=labels))
    assert data["name"] == "DiskFull"
    assert data["labels"]["alertname"] == "DiskFull"
    for kept in (data["labels"], data["annotations"]):
        assert len(kept) <= 50
        for text in (*kept.keys(), *kept.values()):
            assert len(text) <= 1_000
            assert "\x00" not in text
            text.encode()
