"""Questions that a plugin asks when a job is created, and the check of their answers. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from controlplane.formats.json_schema import ValidationError, Validator, compile_schema
from registry.plugins.documents.diagnostics import Code, Findings, Node, quote_name
from registry.plugins.documents.fields import (
    read_block,
    read_boolean,
    read_integer,
    read_items,
    read_line,
    read_members,
    read_optional,
)

_FIELDS = (
    "name",
    "prompt",
    "help",
    "default",
    "multiselect",
    "regexp",
    "validationerror",
    "minlength",
    "maxlength",
    "required",
    "subquestions",
)
_TEXTS = ("name", "prompt", "help", "default", "validationerror")
_MAX_LENGTH = 1 << 20
_MAX_OBJECTS = 500


@dataclass(frozen=True, slots=True)
class SubQuestions:
    """Questions that are asked after a certain answer."""

    if_value: str
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """A question. pattern: a regular expression found anywhere in the answer; max_length 0: no limit."""

    name: str
    prompt: str
    help: str = ""
    default: str = ""
    options: tuple[str, ...] = ()
    pattern: str = ""
    validation_error: str = ""
    min_length: int = 0
    max_length: int = 0
    required: bool = False
    subquestions: tuple[SubQuestions, ...] = ()


def check_answer(question: Question, answer: str) -> tuple[str, ...]:
    """Return all problems of an answer. An empty answer to an optional question has none."""
    if not answer:
        return ("An answer is required.",) if question.required else ()
    problems = (
        (
            question.options and answer not in question.options,
            f"Choose one of {', '.join(question.options)}.",
        ),
        (len(answer) < question.min_length, f"The answer needs at least {question.min_length} characters."),
        (
            question.max_length and len(answer) > question.max_length,
            f"The answer can have at most {question.max_length} characters.",
        ),
        (
            question.pattern and not _matches(question.pattern, answer),
            question.validation_error or "The answer does not match the expected pattern.",
        ),
    )
    return tuple(message for is_invalid, message in problems if is_invalid)


def read_all_questions(node: Node, findings: Findings) -> tuple[Question, ...]:
    """Read the questions of a plugin, unless they are so many that compiling their patterns takes long."""
    if _count_objects(node.value) <= _MAX_OBJECTS:
        return read_questions(node, findings)
    message = f"The questions and their conditions are more than {_MAX_OBJECTS}."
    findings.error(node.pointer, Code.TOO_LARGE, message)
    return ()


def _count_objects(value: object) -> int:
    rest, count = [value], 0
    while rest:
        value = rest.pop()
        count += isinstance(value, Mapping)
        if isinstance(value, Mapping | list):
            rest.extend(value.values() if isinstance(value, Mapping) else value)
    return count


def read_questions(
    node: Node, findings: Findings, outer: frozenset[str] = frozenset()
) -> tuple[Question, ...]:
    """Read a list of questions. outer: names of the questions around it, which must not be repeated."""
    questions = []
    names: set[str] = set(outer)
    for item in read_items(node, findings):
        question = _read_question(item, findings, outer)
        if question is None:
            continue
        if question.name in names:
            message = f"The question {quote_name(question.name)} is asked already."
            findings.error(item.member("name").pointer, Code.DUPLICATE, message)
        names.add(question.name)
        questions.append(question)
    return tuple(questions)


def _read_question(node: Node, findings: Findings, outer: frozenset[str]) -> Question | None:
    members = read_members(node, _FIELDS, findings, required=("name", "prompt"))
    texts = {name: read_optional(members, name, read_block, findings) or "" for name in _TEXTS}
    options = read_optional(members, "multiselect", _read_lines, findings) or ()
    question = Question(
        texts["name"],
        texts["prompt"],
        texts["help"],
        texts["default"],
        options,
        read_optional(members, "regexp", _read_pattern, findings) or "",
        texts["validationerror"],
        read_optional(members, "minlength", _read_length, findings) or 0,
        read_optional(members, "maxlength", _read_length, findings) or 0,
        read_optional(members, "required", read_boolean, findings) or False,
        _read_subquestions(members, options, outer | {texts["name"]}, findings),
    )
    _check_consistency(members, question, findings)
    return question if question.name else None


def _check_consistency(members: Mapping[str, Node], question: Question, findings: Findings) -> None:
    if question.max_length and question.min_length > question.max_length:
        message = "The field 'minlength' is above 'maxlength'."
        findings.error(members["minlength"].pointer, Code.INVALID_VALUE, message)
    # A template is compiled when the job runs.
    if question.default and "{{" not in question.default and check_answer(question, question.default):
        message = "The default is not a valid answer to its own question."
        findings.error(members["default"].pointer, Code.INVALID_VALUE, message)


def _read_subquestions(
    members: Mapping[str, Node], options: Sequence[str], outer: frozenset[str], findings: Findings
) -> tuple[SubQuestions, ...]:
    if "subquestions" not in members:
        return ()
    groups = []
    for item in read_items(members["subquestions"], findings):
        fields = read_members(item, ("ifvalue", "questions"), findings, required=("ifvalue", "questions"))
        if_value = read_optional(fields, "ifvalue", read_line, findings)
        if if_value is not None and options and if_value not in options:
            message = "The value is not among the options of its question, so nothing would be asked."
            findings.error(fields["ifvalue"].pointer, Code.INVALID_VALUE, message)
        questions = read_questions(fields["questions"], findings, outer) if "questions" in fields else ()
        groups.append(SubQuestions(if_value or "", questions))
    return tuple(groups)


def _read_lines(node: Node, findings: Findings) -> tuple[str, ...]:
    lines = (read_line(item, findings) for item in read_items(node, findings))
    return tuple(line for line in lines if line is not None)


def _read_length(node: Node, findings: Findings) -> int | None:
    return read_integer(node, findings, _MAX_LENGTH)


def _read_pattern(node: Node, findings: Findings) -> str | None:
    text = read_block(node, findings)
    if text is None:
        return None
    try:
        _compile(text)
    except ValidationError:
        pass
    else:
        return text
    message = "The regular expression is invalid, too large, or requires backtracking."
    findings.error(
        node.pointer, Code.INVALID_PATTERN, message, "Look-around and back-references are not supported."
    )
    return None


def _matches(pattern: str, answer: str) -> bool:
    return _compile(pattern).is_valid(answer)


def _compile(pattern: str) -> Validator:
    return compile_schema({"type": "string", "pattern": pattern})
