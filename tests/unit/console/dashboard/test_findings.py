"""The headline states the worst finding, and never more than was checked."""

from hypothesis import given
from hypothesis import strategies as st

from console.dashboard.findings import Check, Finding, Severity, report

PROBLEM = Finding(Severity.PROBLEM, "19 agents silent")
WARNING = Finding(Severity.WARNING, "A claim was rejected")
NOTE = Finding(Severity.NOTE, "1 agent has been silent for a day")
findings = st.sampled_from([PROBLEM, WARNING, NOTE])
checks = st.builds(
    Check,
    subject=st.sampled_from(["the fleet", "overrides"]),
    findings=st.lists(findings, max_size=2).map(tuple),
    passed=st.sampled_from(["", "All is well."]),
)


def test_the_worst_is_the_headline_and_the_rest_follows():
    result = report([Check("a", (WARNING,)), Check("b", (NOTE, PROBLEM)), Check("c", passed="Fine.")])

    assert (result.headline, result.other_findings, result.state) == (PROBLEM, (WARNING, NOTE), "problem")
    assert result.passed == ("Fine.",)


def test_without_findings_only_what_was_checked_is_well():
    result = report([Check("the fleet", allowed=False), Check("overrides", passed="In the database.")])

    assert result.headline.summary == "No problems found in what you can read"
    assert (result.state, result.unseen) == ("ok", ("the fleet",))


def test_without_any_check_nothing_is_well():
    result = report(
        [Check("the fleet", passed="Fine.", allowed=False), Check("sinks", allowed=False, is_named=False)]
    )

    assert (result.state, result.passed, result.unseen) == ("unchecked", (), ("the fleet",))
    assert "No problems" not in result.headline.summary


def test_a_note_is_no_headline():
    result = report([Check("the fleet", (NOTE,))])

    assert (result.headline.summary, result.state) == ("No new problems found", "ok")
    assert result.other_findings == (NOTE,)


@given(st.lists(checks, max_size=5))
def test_no_finding_is_lost_and_none_is_hidden_behind_a_lesser_one(made):
    result = report(made)

    shown = sorted(
        [*result.other_findings, *([result.headline] if result.state in ("problem", "warning") else [])],
        key=str,
    )
    assert shown == sorted((finding for check in made for finding in check.findings), key=str)
    assert all(finding.severity <= result.headline.severity for finding in result.other_findings)
    assert not any(
        check.passed in result.passed
        for check in made
        if check.findings and not any(other.passed == check.passed and not other.findings for other in made)
    )
