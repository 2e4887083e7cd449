"""YAML in and out: nothing changes on the way, nothing hostile passes, and every error has its place."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from controlplane.errors import FieldError, MalformedBody
from controlplane.formats import strict_yaml

# What some YAML takes for something else than a text, a line, or a part of the document's structure.
_WORDS = "~ null Null true True FALSE yes No on off y n << = | > { } [] , ' \" \\ \\n --- ..."
_NUMBERS = (
    "0 -1 +1 010 0o17 0x1F 0b1 1_000 1:20 190:20:30 1e3 1e99999 .5 5. +.5e-3 .inf -.INF .nan"
    " 2001-01-01 2001-12-14t21:59:43.10-05:00"
)
_MARKS = "- a,? a,a: b,a:,:a,a #b,#a,&a,*a,!a,!!int 3,%a,@a,`a,--- a, a,a ,\ta,,\x7f,\x1b[0m"
_BREAKS = "\n|\n\n|a\n|\n a| \na|a\n |a\n\n|a\r\nb|\r|a\n\u2028 b|\u2028|a \x85 b"
_ODD = ["\ufeff", "\ufeffa\n", "\ufffe", "\uffff", "\U0001f600", "\U0010ffff"]
_LONG = ["k" * 2000, "a b " * 100, "9" * 400, "0x" + "f" * 200]
_MISREAD = st.sampled_from(
    [*_WORDS.split(), *_NUMBERS.split(), *_MARKS.split(","), *_BREAKS.split("|"), *_ODD, *_LONG]
)
_texts = _MISREAD | st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12)
_numbers = st.integers() | st.integers(-(10**400), 10**400) | st.floats(allow_nan=False, allow_infinity=False)
_scalars = _texts | _numbers | st.booleans() | st.none()
values = st.recursive(
    _scalars,
    lambda below: st.lists(below, max_size=4) | st.dictionaries(_texts, below, max_size=4),
    max_leaves=10,
)
# An empty document is no document.
documents = values.filter(lambda value: value is not None)


def same(document: Any, other: Any) -> bool:
    """Equal as JSON: to Python, 1 and 1.0 and true are equal."""
    return json.dumps(document) == json.dumps(other)


def refused(text: str) -> FieldError:
    with pytest.raises(MalformedBody) as caught:
        strict_yaml.load_all(text)
    (error,) = caught.value.errors
    return error


@given(documents)
def test_what_is_dumped_is_read_back_as_it_was(document):
    assert same(strict_yaml.load(strict_yaml.dump(document)), document)


@given(st.lists(documents, max_size=4))
def test_a_stream_of_documents_is_read_back_in_its_order(stream):
    assert same(strict_yaml.load_all(strict_yaml.dump_all(stream)), stream)


@given(_texts.filter(lambda text: not set(text) & set("\x85\u2028\u2029")))
@example("a\n\u2028 b")
def test_no_reader_of_yaml_1_1_takes_a_dumped_text_for_anything_else(text):
    dumped = strict_yaml.dump([text, {text: text}])

    assert yaml.safe_load(dumped) == [text, {text: text}]


@given(_MISREAD)
def test_what_yaml_1_2_alone_would_misread_is_quoted(text):
    dumped = strict_yaml.dump({"a": text}).removeprefix("a:").strip()

    plain = dumped == text
    numeric = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|0o[0-7]+|0x[0-9a-fA-F]+")
    assert not (plain and numeric.fullmatch(text))
    # Only within quotes are these no line breaks to anybody.
    assert not set(dumped) & set("\x85\u2028\u2029")


@given(values.map(lambda value: [value]))
def test_dumping_is_deterministic_and_a_fixed_point(document):
    text = strict_yaml.dump(document)

    assert strict_yaml.dump(strict_yaml.load(text)) == text


_in_json = st.text(
    st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"], max_codepoint=0xFFFD), max_size=20
)
json_documents = st.recursive(
    _in_json | _numbers | st.booleans() | st.none(),
    lambda below: st.lists(below, max_size=4) | st.dictionaries(_in_json, below, max_size=4),
    max_leaves=10,
).filter(lambda value: value is not None)


@given(json_documents, st.sampled_from([None, 2, "\t"]), st.booleans())
def test_json_is_read_as_what_it_means(document, indent, escaped):
    text = json.dumps(document, indent=indent, ensure_ascii=escaped)

    assert same(strict_yaml.load(text), document)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", "yes"),
        ("on", "on"),
        ("1_000", "1_000"),
        ("0b1", "0b1"),
        ("1:20", "1:20"),
        ("2001-01-01", "2001-01-01"),
        ("010", 10),
        ("0o17", 15),
        ("0xfF", 255),
        ("-7", -7),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("TRUE", True),
        ("'1'", "1"),
        ("!!str 1", "1"),
        ("9" * 400, int("9" * 400)),
        ("{a: , b: ~}", {"a": None, "b": None}),
        ("1: a", {"1": "a"}),
        ('"<<": 1', {"<<": 1}),
        ("a: |\n  b\n  c\n", {"a": "b\nc\n"}),
        ("\ufeffa: 1", {"a": 1}),
    ],
)
def test_plain_scalars_mean_what_yaml_1_2_says(text, value):
    assert same(strict_yaml.load(text), value)


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("a: &x 1", 1, 4),
        ("&x a: 1", 1, 1),
        ("a: &x {b: 1}", 1, 4),
        ("a:\n- &x [1]", 2, 3),
        ("a: *x", 1, 4),
        ("*x", 1, 1),
        ("a: !!int 3", 1, 4),
        ("a: !mine 3", 1, 4),
        ("a: ! 3", 1, 4),
        ("a: !!str {b: 1}", 1, 4),
        ("a: !!python/object:os.system []", 1, 4),
        ("a:\n  <<: {b: 1}", 2, 3),
        ("b: 1\na: 1\nb: 2", 3, 1),
        ('{"a": {"b": 1,\n "b": 2}}', 2, 2),
        ("1: a\n'1': b", 2, 1),
        ("? [a]\n: b", 1, 3),
        ("a: {{}: b}", 1, 5),
        ('a:\n  "x\\0y"', 2, 3),
        ('"\\ud800"', 1, 4),
        ("a: 1\nb: \x00", 2, 4),
        ("a: 1\r\nb: \x1b", 2, 4),
        ("a: 1\rb: x\ud800", 2, 5),
        ('{"a": "x\x85y"}', 1, 9),
        ("a: b\u2028c", 1, 5),
        ("a: .inf", 1, 4),
        ("a: .NaN", 1, 4),
        ("a: 1e400", 1, 4),
        ("a: -1e99999", 1, 4),
        ("a: " + "9" * 5000, 1, 4),
        ("a: 0x" + "f" * 5000, 1, 4),
        ("a: [1, 2", 2, 1),
        ("a: 'b\n", 2, 1),
        ("a: b: c", 1, 5),
        ("a:\n\t- b", 2, 1),
        ("%YAML 9.9\n---\na", 1, 1),
    ],
)
def test_what_is_dangerous_or_surprising_is_refused_at_its_place(text, line, column):
    error = refused(text)

    assert (error.code, error.line, error.column) == ("malformed", line, column)


_MIB = 1024 * 1024


@pytest.mark.parametrize(
    "text",
    [
        "[" * 1_000_000,
        "{a: " * 1_000_000,
        "- " * 1_000_000,
        "? " * 1_000_000,
        "[{" * (_MIB // 2),
        "".join(f"{' ' * depth}a:\n" for depth in range(1400)),
        "\n".join(f"l{n}: &l{n} [*l{n - 1}, *l{n - 1}]" for n in range(1, 30)),
        "'" + '"' * _MIB,
        '"' + "\\" * _MIB,
        "a: " * (_MIB // 3),
        "!" * _MIB,
        "%a\n" * (_MIB // 3),
        "[" + "a," * (_MIB // 2) + "]]",
        "k" * _MIB + ": v",
        "1" * _MIB,
        "1e" + "9" * _MIB,
        "0x" + "f" * _MIB,
        "x" * _MIB + "\x00",
    ],
    ids=range(18),
)
def test_a_hostile_mebibyte_is_refused_quickly_with_line_and_column(text):
    began = time.process_time()

    error = refused(text)

    # Linear passes take milliseconds; quadratic ones would take minutes.
    assert time.process_time() - began < 60
    assert error.line > 0
    assert error.column > 0


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(f"k{number}: {number}" for number in range(600_000)),
        "[" + "a," * 2_000_000 + "]",
        "- 1\n" * 600_000,
        "{a}\n---\n" * 300_000,
    ],
    ids=range(4),
)
def test_too_many_values_are_refused_by_count_before_anything_is_built(text):
    began = time.process_time()

    error = refused(text)

    assert f"more than {strict_yaml.MAX_NODES} names and values" in error.message
    assert error.line > 0
    assert time.process_time() - began < 60


def test_as_many_values_as_are_allowed_are_read():
    pairs = strict_yaml.MAX_NODES // 2 - 1

    assert (
        len(strict_yaml.load("\n".join(f"k{number}:" for number in range(pairs)) + "\n#" + "x" * 10)) == pairs
    )


def test_thirty_two_levels_are_enough_and_allowed():
    deepest = "[" * 32 + "]" * 32

    assert same(strict_yaml.load(deepest), json.loads(deepest))
    assert refused(f"[{deepest}]").column == 33


@given(
    st.binary(max_size=60).map(lambda body: body.decode("latin-1"))
    | st.text("[]{}:,-?&*!|>'\"%#\n a1", max_size=30)
)
def test_any_text_is_read_or_refused_and_what_is_read_can_be_written(text):
    try:
        documents = strict_yaml.load_all(text)
    except MalformedBody:
        return
    assert same(strict_yaml.load_all(strict_yaml.dump_all(documents)), documents)


def test_empty_documents_are_no_documents():
    assert strict_yaml.load_all("") == []
    assert strict_yaml.load_all("---\n# nothing\n---\na\n---\n~\n") == ["a"]
    assert strict_yaml.positions("---\n---\na: 1\n---\n") == [{"": (3, 1), "/a": (3, 4)}]


def test_one_document_is_wanted_where_one_is_wanted():
    for text in ("", "a\n---\nb\n"):
        with pytest.raises(MalformedBody):
            strict_yaml.load(text)


class Marked:
    """A shape whose names and values are all different texts, so that each can be found in a text."""

    def __init__(self, shape: Any) -> None:
        self.pointers: dict[str, Any] = {}
        self.count = 0
        self.document = self._mark(shape, "")

    def _next(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}ü😀{self.count}x"

    def _mark(self, shape: Any, pointer: str) -> Any:
        if shape is None:
            marked: Any = self._next("value")
        elif shape and shape[0] == "object":
            names = [self._next("na~/me") for _ in shape[1:]]
            steps = [name.replace("~", "~0").replace("/", "~1") for name in names]
            below = zip(names, steps, shape[1:], strict=True)
            marked = {name: self._mark(child, f"{pointer}/{step}") for name, step, child in below}
        else:
            marked = [self._mark(child, f"{pointer}/{index}") for index, child in enumerate(shape[1:])]
        self.pointers[pointer] = marked
        return marked


shapes = st.recursive(
    st.none(),
    lambda below: st.builds(
        lambda kind, children: [kind, *children],
        st.sampled_from(["object", "list"]),
        st.lists(below, max_size=3),
    ),
    max_leaves=8,
).map(Marked)


def at(text: str, line: int, column: int) -> str:
    return text.split("\n")[line - 1][column - 1 :]


def begins(value: Any, *, block: bool) -> tuple[str, ...]:
    """How the text of a value can begin."""
    if isinstance(value, str):
        return (value, f'"{value}', f"'{value}")
    if not value or not block:
        return ("{",) if isinstance(value, dict) else ("[",)
    return ("- ",) if isinstance(value, list) else begins(next(iter(value)), block=True)


@given(st.lists(shapes, min_size=1, max_size=3))
def test_in_yaml_every_value_has_its_place_and_something_is_there(marked):
    # libyaml writes characters beyond 16 bits as escapes; here they shall stand before a value.
    text = strict_yaml.dump_all(document.document for document in marked).replace("\\U0001F600", "😀")

    for document, places in zip(marked, strict_yaml.positions(text), strict=True):
        assert places.keys() == document.pointers.keys()
        for pointer, place in places.items():
            assert at(text, *place).startswith(begins(document.pointers[pointer], block=True)), pointer


@given(shapes, st.sampled_from([None, 1, 4]))
def test_in_json_every_value_has_its_place_and_something_is_there(marked, indent):
    text = json.dumps(marked.document, indent=indent, ensure_ascii=False)

    (places,) = strict_yaml.positions(text)

    assert places.keys() == marked.pointers.keys()
    for pointer, place in places.items():
        assert at(text, *place).startswith(begins(marked.pointers[pointer], block=False)), pointer


TWO = "first: 1\n---\nspec:\n  taskResources:\n    limits: {cpu: x}\n  plugins: [a,\n    b]\n"


@pytest.mark.parametrize(
    ("pointer", "line", "column"),
    [
        ("/documents/0/first", 1, 8),
        ("/documents/0", 1, 1),
        ("/documents/1/spec/taskResources/limits/cpu", 5, 19),
        ("/documents/1/spec/task_resources/limits/cpu", 5, 19),
        ("/documents/1/spec/taskResources/limits/gone/deeper", 5, 13),
        ("/documents/1/spec/plugins/1", 7, 5),
        ("/documents/1/spec/plugins/[key=b]", 6, 12),
        ("/documents/1/nowhere", 3, 1),
        ("/documents/2/first", 0, 0),
        ("/documents/x", 0, 0),
        ("?project", 0, 0),
        ("", 0, 0),
    ],
)
def test_an_error_gets_the_place_of_its_value_or_of_the_nearest_thing_around_it(pointer, line, column):
    error = strict_yaml.located(FieldError(pointer, "code", "message"), strict_yaml.positions(TWO))

    assert (error.pointer, error.line, error.column) == (pointer, line, column)
