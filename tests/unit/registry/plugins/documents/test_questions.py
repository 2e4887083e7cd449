"""Questions of plugins: which are consistent, and which answers are valid."""

from __future__ import annotations

import time

import pytest

from registry.plugins.documents.diagnostics import Findings, Node
from registry.plugins.documents.questions import Question, check_answer, read_all_questions, read_questions


def found(*questions) -> list[tuple[str, str]]:
    findings = Findings()
    complete = [{"prompt": "?", **question} for question in questions]
    read_questions(Node(complete), findings)
    return [(str(error.code), error.path) for error in findings.diagnostics]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ({"name": None}, ("required", "/0")),
        ({"name": "A", "promt": "x"}, ("unknown_field", "/0/promt")),
        ({"name": "A", "regexp": "("}, ("invalid_pattern", "/0/regexp")),
        ({"name": "A", "regexp": "(?!x)"}, ("invalid_pattern", "/0/regexp")),
        ({"name": "A", "regexp": r"(.)\1"}, ("invalid_pattern", "/0/regexp")),
        ({"name": "A", "minlength": 3, "maxlength": 2}, ("invalid_value", "/0/minlength")),
        ({"name": "A", "minlength": -1}, ("invalid_value", "/0/minlength")),
        ({"name": "A", "required": "yes"}, ("invalid_type", "/0/required")),
        ({"name": "A", "default": 1}, ("invalid_type", "/0/default")),
        ({"name": "A", "default": "C", "multiselect": ["A", "B"]}, ("invalid_value", "/0/default")),
        ({"name": "A", "default": "ab", "regexp": "^[0-9]+$"}, ("invalid_value", "/0/default")),
        ({"name": "A", "subquestions": [{"ifvalue": "x"}]}, ("required", "/0/subquestions/0")),
        (
            {"name": "A", "multiselect": ["x"], "subquestions": [{"ifvalue": "y", "questions": []}]},
            ("invalid_value", "/0/subquestions/0/ifvalue"),
        ),
        (
            {"name": "A", "subquestions": [{"ifvalue": "x", "questions": [{"name": "A", "prompt": "?"}]}]},
            ("duplicate", "/0/subquestions/0/questions/0/name"),
        ),
    ],
)
def test_inconsistent_questions(question, expected):
    assert found(question) == [expected]


def test_names_are_unique_in_a_list_and_free_in_branches():
    branch = {"questions": [{"name": "B", "prompt": "?"}]}
    branches = [{"ifvalue": "x", **branch}, {"ifvalue": "y", **branch}]

    assert found({"name": "A", "subquestions": branches}) == []
    assert found({"name": "A"}, {"name": "A"}) == [("duplicate", "/1/name")]


def test_a_default_with_a_template_is_compiled_later():
    assert found({"name": "A", "default": "{{.x}}", "regexp": "^[0-9]+$"}) == []


def test_a_required_answer_is_checked_by_all_rules():
    question = Question("A", "?", pattern="^[a-z]+$", min_length=3, required=True)

    assert check_answer(question, "") == ("An answer is required.",)
    assert len(check_answer(question, "1")) == 2
    assert check_answer(question, "abc") == ()


@pytest.mark.parametrize(
    ("question", "answer", "problem"),
    [
        (Question("A", "?", options=("a", "b")), "c", "Choose one of a, b."),
        (Question("A", "?", max_length=2), "abc", "The answer can have at most 2 characters."),
        (Question("A", "?", pattern="x", validation_error="Write x."), "y", "Write x."),
    ],
)
def test_each_problem_has_its_message(question, answer, problem):
    assert check_answer(question, answer) == (problem,)
    assert check_answer(question, "") == ()


def test_the_number_of_questions_is_limited():
    findings = Findings()
    many = [{"name": f"Q{number}", "prompt": "?"} for number in range(501)]

    assert read_all_questions(Node(many), findings) == ()
    assert [str(error.code) for error in findings.diagnostics] == ["too_large"]
    assert len(read_all_questions(Node(many[:500]), Findings())) == 500


def test_hostile_patterns_take_seconds_at_most():
    many = [{"name": f"Q{number}", "prompt": "?", "regexp": f"^.{{1,100}}{number}$"} for number in range(500)]
    begin = time.perf_counter()

    read_all_questions(Node(many), Findings())
    assert time.perf_counter() - begin < 10


def test_patterns_take_linear_time():
    question = Question("A", "?", pattern="^(a+)+$")
    begin = time.perf_counter()

    assert check_answer(question, "a" * 100_000 + "b")
    assert time.perf_counter() - begin < 2
