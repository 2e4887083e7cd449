"""What cpctl decides without a server: tries, merges, places, colours, contexts, events."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from cpctl.contexts import Config, Context, chosen, load, save
from cpctl.errors import ApiError, UsageError
from cpctl.exits import Exit
from cpctl.files import joined
from cpctl.lazy import COMMANDS, build
from cpctl.merging import three_way
from cpctl.output import Column, as_csv, as_text, table, wants_color
from cpctl.plans import differs, is_empty, summary_line
from cpctl.portable.conflicts import retry_on_conflict
from cpctl.portable.retries import TRIES, pause, repeatable
from cpctl.portable.streams import parse
from cpctl.scopes import scope_query, scope_text
from tests.support.paths import ROOT


@pytest.mark.parametrize(
    ("method", "headers", "again"),
    [
        ("GET", {}, True),
        ("POST", {"Idempotency-Key": "k"}, True),
        ("POST", {}, False),
        ("PUT", {"If-Match": '"v1"'}, False),
        ("DELETE", {}, False),
    ],
)
def test_only_what_cannot_happen_twice_is_sent_again_blindly(method, headers, again):
    assert repeatable(method, headers) is again


@pytest.mark.parametrize(
    ("tried", "status", "again", "retry_after", "expected"),
    [
        (1, 200, True, "", None),
        (1, 404, True, "", None),
        (1, 500, True, "", None),
        (1, 503, False, "", 0.2),
        (2, 429, False, "", 0.4),
        (1, 503, False, "7", 7.1),
        (1, 503, False, "31", None),
        (1, 503, False, "Sat, 21 Nov 2026 09:30:00 GMT", 0.2),
        (1, 502, True, "", 0.2),
        (1, 502, False, "", None),
        (1, 0, True, "", 0.2),
        (1, 0, False, "", None),
        (TRIES, 503, True, "", None),
    ],
)
def test_the_pause_before_another_try(tried, status, again, retry_after, expected):
    seconds = pause(tried, status, again=again, retry_after=retry_after, luck=0.5)

    assert seconds == (None if expected is None else pytest.approx(expected))


def test_an_outcome_that_the_server_does_not_know_is_no_refusal():
    """Sent again, a change that was saved would meet its own ETag, or happen twice."""
    unknown = {"retry_after": "", "luck": 0.5, "code": "outcome_unknown"}
    assert pause(1, 503, again=False, **unknown) is None
    assert pause(1, 503, again=True, **unknown) == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("ours", "theirs", "merged", "conflicts"),
    [
        ({"a": 2, "b": 1}, {"a": 1, "b": 2}, {"a": 2, "b": 2}, []),
        ({"a": 2, "b": 1}, {"a": 2, "b": 1}, {"a": 2, "b": 1}, []),
        ({"a": 2, "b": 1}, {"a": 3, "b": 1}, {"a": 2, "b": 1}, ["/a"]),
        ({"b": 1}, {"a": 1, "b": 2}, {"b": 2}, []),
        ({"b": 1}, {"a": 2, "b": 1}, {"b": 1}, ["/a"]),
        ({"a": 1, "b": 1, "c": 1}, {"a": 1, "b": 1, "d": 1}, {"a": 1, "b": 1, "c": 1, "d": 1}, []),
        ({"a": {"x": 1}, "b": 1}, {"a": {"y": 1}, "b": 1}, {"a": {"x": 1, "y": 1}, "b": 1}, []),
    ],
)
def test_two_edits_are_both_kept_unless_they_contradict(ours, theirs, merged, conflicts):
    assert three_way({"a": 1, "b": 1}, ours, theirs) == (merged, conflicts)


def test_a_line_of_the_whole_is_told_as_a_line_of_its_file():
    bundle = joined([("a", "one: 1\ntwo: 2"), ("b", "---\nthree: 3\n"), ("c", "four: 4\n")])

    assert bundle.text.splitlines() == ["one: 1", "two: 2", "---", "three: 3", "---", "four: 4"]
    places = [bundle.place(line) for line in (1, 2, 4, 6)]
    assert places == [("a", 1), ("a", 2), ("b", 2), ("c", 1)]


def test_events_come_whole_and_a_bookmark_only_moves_on():
    stream_text = 'id: 3\nevent: a.b\ndata: {"seq": 3}\n\n: hello\n\nid: 9\nevent: bookmark\ndata: {}\n\n'
    broken = ["id: 10", 'data: {"se']

    assert list(parse([*stream_text.split("\n")[:-1], *broken])) == [(3, {"seq": 3}), (9, None)]


@pytest.mark.parametrize(
    ("flag", "environment", "terminal", "colored"),
    [
        ("auto", {}, True, True),
        ("auto", {}, False, False),
        ("auto", {"NO_COLOR": "1"}, True, False),
        ("auto", {"NO_COLOR": ""}, True, True),
        ("auto", {"CPCTL_NO_COLOR": "1"}, True, False),
        ("auto", {"TERM": "dumb"}, True, False),
        ("always", {"NO_COLOR": "1"}, False, True),
        ("never", {}, True, False),
    ],
)
def test_color(flag, environment, terminal, colored):
    assert wants_color(flag, environment, terminal=terminal) is colored


def test_what_a_server_tells_cannot_move_the_cursor():
    assert as_text("a\x1b[2Jb\nc") == "a\N{REPLACEMENT CHARACTER}[2Jb\N{REPLACEMENT CHARACTER}c"


def test_tables_are_aligned_and_end_without_blanks():
    columns = (Column("A", lambda row: row[0]), Column("BB", lambda row: row[1]))

    assert table(columns, [("long", True), ("s", None)]) == ["A      BB", "long   yes", "s"]


def test_csv_has_every_column_and_quotes_what_must_be():
    columns = (Column("A", lambda row: row[0]), Column("B", lambda row: row[1], wide=True))

    assert as_csv(columns, [("x,y", None)]) == ["A,B", '"x,y",']
    assert as_csv(columns, [("x", True)], headers=False) == ["x,yes"]


def test_the_guide_lists_every_exit_code():
    guide = (ROOT / "docs" / "guides" / "cpctl.md").read_text()

    assert {int(code) for code in re.findall(r"^\| (\d+) \|", guide, re.MULTILINE)} == set(Exit)


def test_what_was_seen_is_looked_at_again_only_where_somebody_came_first():
    def attempt(version: int) -> int:
        if version < 3:
            raise LookupError
        return version

    def is_late(error: Exception) -> bool:
        return isinstance(error, LookupError)

    assert retry_on_conflict(1, attempt, lambda seen: seen + 1, is_conflict=is_late) == 3
    with pytest.raises(LookupError):
        retry_on_conflict(-9, attempt, lambda seen: seen + 1, is_conflict=is_late)
    with pytest.raises(LookupError):
        retry_on_conflict(2, attempt, lambda seen: seen + 1, is_conflict=lambda error: False)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_says_of_a_command_what_the_command_says_of_itself(name):
    says = str(build(name).help).split("\n")[0]

    assert says.startswith(COMMANDS[name].help.removesuffix("."))


def test_a_mistyped_command_is_told_the_nearest():
    ran = subprocess.run(
        [sys.executable, "-m", "cpctl", "agnets"], capture_output=True, text=True, check=False
    )

    assert (ran.returncode, "'agents'" in ran.stderr) == (Exit.USAGE, True)


def test_a_fault_of_its_own_ends_with_70_and_is_never_taken_for_a_difference():
    script = "import cpctl.main as m; m.app = lambda **named: 1 / 0; m.main()"

    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)

    assert (ran.returncode, "Traceback" in ran.stderr) == (Exit.BUG, False)


def test_a_token_goes_only_to_the_server_that_it_is_of():
    config = Config("here", {"here": Context("here", "https://here.example", "secret")})

    assert chosen(config).token == "secret"
    assert chosen(config, server="https://here.example/").token == "secret"
    assert chosen(config, server="https://evil.example").token == ""
    assert "secret" not in repr(config)


def test_contexts_survive_and_a_broken_file_is_told(tmp_path):
    path = tmp_path / "new" / "config.json"
    config = Config("a", {"a": Context("a", "https://a.example", "t", production=True)})
    save(config, path)

    assert load(path) == config
    assert load(tmp_path / "none.json") == Config()
    path.write_text(json.dumps({"contexts": []}))
    with pytest.raises(UsageError, match="is not a valid cpctl configuration"):
        load(path)


def test_scopes_are_of_a_legal_shape():
    assert scope_query("p", "", "", "") == {"project": "p"}
    assert scope_text({"project": "p", "domain": "d"}) == "project=p domain=d"
    assert scope_text({}) == "global"
    with pytest.raises(UsageError):
        scope_query("p", "", "w", "")
    with pytest.raises(UsageError):
        scope_query("p", "d", "", "l")


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, Exit.USAGE),
        (401, Exit.AUTH),
        (403, Exit.AUTH),
        (404, Exit.NOT_FOUND),
        (409, Exit.CONFLICT),
        (410, Exit.NOT_FOUND),
        (412, Exit.CONFLICT),
        (413, Exit.USAGE),
        (422, Exit.USAGE),
        (428, Exit.CONFLICT),
        (429, Exit.UNAVAILABLE),
        (500, Exit.UNAVAILABLE),
        (503, Exit.UNAVAILABLE),
    ],
)
def test_no_answer_of_the_server_ends_like_a_difference(status, code):
    assert ApiError(status, {}).exit is code
    assert code >= 2


@pytest.mark.parametrize(
    ("message", "line"),
    [
        ("'x' is not a state.", "  /state 'x' is not a state. Allowed: ready, late."),
        ("Use one of: ready, late.", "  /state Use one of: ready, late."),
    ],
)
def test_allowed_values_are_printed_once(message, line):
    error = {"pointer": "/state", "message": message, "allowed": ["ready", "late"]}

    assert line in ApiError(400, {"errors": [error]}).lines()


def test_an_error_of_a_parameter_is_not_printed_again_below_the_same_message():
    message = "'x' is not a state. Use one of: ready, late."
    error = {"pointer": "?state", "message": message, "allowed": ["ready", "late"]}
    problem = {"detail": message, "errors": [error], "code": "invalid_request", "request_id": "1"}

    assert ApiError(400, problem).lines() == [message, "(code invalid_request, request 1)"]
    other = {**problem, "detail": "Two are wrong.", "errors": [error, error]}
    assert len(ApiError(400, other).lines()) == 4


def plan(**fields):
    nothing = {"created": 0, "updated": 0, "deleted": 0, "unchanged": 3}
    return {"installation": [], "changes": [], "effective": [], "summary": nothing, **fields}


def test_a_change_of_manager_is_something_to_do_and_no_difference():
    updated = {"created": 0, "updated": 1, "deleted": 0, "unchanged": 0}
    change = {"change": "updated", "differences": []}
    planned = plan(summary=updated, changes=[change])

    assert (is_empty(planned), differs(planned)) == (False, False)
    assert (is_empty(plan()), differs(plan())) == (True, False)
    assert differs(plan(changes=[{**change, "differences": [{"leaf": "/a"}]}]))
    assert differs(plan(changes=[{**change, "change": "created"}]))
    assert differs(plan(installation=[{"kind": "project", "name": "p", "change": "created"}]))
    assert not differs(plan(installation=[{"kind": "project", "name": "p", "change": "unchanged"}]))
    # More than is listed: what is not seen may differ.
    assert differs(plan(changes=[change] * 1000))


def test_the_numbers_of_a_diff_tell_changed_values_from_changed_managers():
    summary = {"created": 0, "updated": 2, "deleted": 0, "unchanged": 1}
    manager = {"change": "updated", "differences": []}
    value = {"change": "updated", "differences": [{"leaf": "/a"}]}
    planned = plan(summary=summary, changes=[manager, value], affected_scopes=1)

    assert "0 created, 1 updated, 0 deleted, 1 unchanged, 1 with equal values and another manager;" in (
        summary_line(planned, managers=False)
    )
    assert "0 created, 2 updated" in summary_line(planned)


def test_help_costs_no_import_of_what_only_commands_need():
    heavy = ["http.client", "ssl", "yaml", "rich", "httpx", "attrs", "django", "tempfile", "asyncio", "nats"]
    script = f"import sys, cpctl.main; print([one for one in {heavy} if one in sys.modules])"

    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert ran.stdout == "[]\n"
