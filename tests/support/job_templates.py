"""Random templates of our subset, the data they read, and the Go program that renders them independently."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hypothesis import strategies as st

from tests.support.paths import ROOT

PROGRAM = ROOT / "tests" / "nightly" / "go_templates"
DATA: dict[str, object] = {
    "proj": {"BUCKET": "gs://data", "EMPTY": "", "UNICODE": "žluťoučký", "NUMBER": "42"},
    "secret": {"TOKEN": "s3cr3t"},
    "inst": {"DSTART": "2023-03-04T10:20:30Z"},
    "GLOBAL__BUCKET": "gs://data",
    "DSTART": "2023-03-04T10:20:30Z",
    "DEND": "2023-03-05T23:59:59+05:30",
    "JOB_DESTINATION": "project:dataset.table",
}
_PATHS = (
    *(".proj.BUCKET", ".proj.EMPTY", ".proj.UNICODE", ".secret.TOKEN", ".inst.DSTART", ".GLOBAL__BUCKET"),
    *(".DSTART", ".DEND", ".JOB_DESTINATION", "$.proj.NUMBER", "$.DEND", '(index . "proj").BUCKET'),
)
_ABSENT = (".missing", ".proj.ABSENT", ".missing.deeper.still", "$.secret.NONE", '(index . "none")')
_STRINGS = ("", "a", "-", "data", "gs://", "ž", " x ", "a\tb", "it's", 'say "so"', "{{x}}", "}}", "%d", "<b>")
_LAYOUTS = (
    *(
        "2006-01-02",
        "20060102",
        "2006-01-02T15:04:05Z07:00",
        "Jan 2, 2006 at 3:04pm (MST)",
        "Monday _2 January",
    ),
    *("15:04:05.000", "15:04:05,999", "06/1/2 03:4:5 PM", "Mon -0700 -07:00 -07 Z0700", "Janet 2006 Month"),
)
# Rarely one that both refuse.
_DATES = (".DSTART", ".DEND", *["$.DSTART"] * 8, "`2023-02-30T00:00:00Z`", "`2023-01-01`")
_DURATIONS = ("-24h", "1h30m", "0.5s", "+2m", "-2562047h", "0", "36h", "1us", "tomorrow")


class Templates:
    """Draws valid templates. variables: the names in scope that hold text, for each open block."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.variables: list[list[str]] = [[]]
        self.count = 0

    def pick(self, values: tuple[str, ...]) -> str:
        return self.draw(st.sampled_from(values))

    def number(self, least: int, most: int) -> int:
        return self.draw(st.integers(least, most))

    def body(self, depth: int) -> str:
        self.variables.append([])
        nodes = [self.node(depth) for _ in range(self.number(0, 4))]
        self.variables.pop()
        return "".join(nodes)

    def node(self, depth: int) -> str:
        kinds = ("text", "output", "output", "output", "variable", "comment")
        blocks = ("if", "with", "range") if depth else ()
        match self.pick(kinds + blocks):
            case "text":
                return self.pick(("SELECT ", "\n", "  ", " {x} ", "a-b", "ž", "\t-\n", "{", "}}"))
            case "output":
                return self.action(self.pipeline(2))
            case "variable":
                value = self.pipeline(1)
                return self.action(f"{self.variable()} := {value}")
            case "comment":
                return self.pick(("{{/* note */}}", "{{- /* {{ */ -}}", "{{/* a\nb */ -}}"))
            case "if":
                return self.conditional(depth)
            case "with":
                return self.with_block(depth)
        return self.range_block(depth)

    def action(self, text: str) -> str:
        left = self.pick(("{{", "{{ ", "{{- ", "{{-\n"))
        return left + text + self.pick(("}}", " }}", " -}}", "\n-}}"))

    def variable(self) -> str:
        self.count += 1
        name = f"$v{self.count}" if self.number(0, 3) else "$x"
        self.variables[-1].append(name)
        return name

    def conditional(self, depth: int) -> str:
        text = self.action(f"if {self.truth(2)}") + self.body(depth - 1)
        for _ in range(self.number(0, 2)):
            text += self.action(f"else if {self.truth(1)}") + self.body(depth - 1)
        return text + self.otherwise(depth) + self.action("end")

    def otherwise(self, depth: int) -> str:
        return self.action("else") + self.body(depth - 1) if self.number(0, 1) else ""

    def with_block(self, depth: int) -> str:
        value, self.variables = self.argument(1), [*self.variables, []]
        declared = f"{self.variable()} := " if self.number(0, 1) else ""
        text = self.action(f"with {declared}{value}") + self.pick(("{{.}}", "", "{{- . -}}"))
        text += self.rooted_body(depth) + self.action("else") + self.body(depth - 1) + self.action("end")
        self.variables = self.variables[:-1]
        return text

    def range_block(self, depth: int) -> str:
        items, self.variables = self.items(1), [*self.variables, []]
        match self.number(0, 2):
            case 0:
                declared = ""
            case 1:
                declared = f"{self.variable()} := "
            case _:
                declared = f"$i{self.count}, {self.variable()} := "
        shown = self.pick(("{{.}}", "", "{{- . -}}"))
        text = self.action(f"range {declared}{items}") + shown + self.rooted_body(depth)
        # In `else`, a variable of the block holds the empty list.
        self.variables = self.variables[:-1]
        return text + self.otherwise(depth) + self.action("end")

    def rooted_body(self, depth: int) -> str:
        """Return a body in which `.` is text: its fields are read from `$`."""
        return self.body(depth - 1).replace(" .", " $.").replace("(.", "($.").replace("{{.", "{{$.")

    def pipeline(self, depth: int) -> str:
        text = self.bare(depth)
        for _ in range(self.number(0, 2)):
            pipe = self.pick(("|", " | ", "\n| "))
            text += pipe + self.pick(
                (
                    'replace "a" "b"',
                    "trunc 4",
                    'printf "<%s>"',
                    'printf "%v%%"',
                    "list | join `,`",
                    "or",
                    "and `a`",
                )
            )
        return text

    def bare(self, depth: int) -> str:
        text = self.argument(depth)
        return text[1:-1] if text.startswith("(") and text.endswith(")") and self.number(0, 1) else text

    def argument(self, depth: int) -> str:
        """Return an expression of text; rarely a missing value, which most functions refuse."""
        kinds = ("literal", "path", "path", "variable", "absent")
        calls = ("replace", "trunc", "Date", "date", "unixEpoch", "join", "printf", "index", "choose")
        match self.pick(kinds + (calls if depth else ())):
            case "literal":
                return self.literal()
            case "path":
                return self.pick(_PATHS)
            case "variable":
                names = [name for scope in self.variables for name in scope]
                return self.pick(tuple(names)) if names else self.literal()
            case "absent":
                return self.pick(_ABSENT) if self.number(0, 7) == 0 else self.literal()
            case call:
                return f"({self.call(call, depth - 1)})"

    def call(self, name: str, depth: int) -> str:
        match name:
            case "replace":
                return f"replace {self.literal()} {self.literal()} {self.argument(depth)}"
            case "trunc":
                return f"trunc {self.number(-2, 9)} {self.argument(depth)}"
            case "Date":
                return f"Date {self.pick(_DATES)}"
            case "date":
                return f"date {self.quoted(self.pick(_LAYOUTS))} {self.moment()}"
            case "unixEpoch":
                return f"unixEpoch {self.moment()}"
            case "join":
                return f"join {self.literal()} {self.items(depth)}"
            case "index":
                return self.pick(('index .proj "BUCKET"', 'index .proj "no"', 'index (list "a" "b") 1'))
            case "printf":
                values = f"{self.argument(depth)} {self.number(-9, 99)} (not {self.truth(depth)})"
                return f'printf "%s %d-%v %%" {values}'
        return f"{self.pick(('or', 'and'))} {self.argument(depth)} {self.argument(depth)}"

    def literal(self) -> str:
        return self.quoted(self.pick(_STRINGS))

    def quoted(self, text: str) -> str:
        return f"`{text}`" if self.number(0, 1) else json.dumps(text, ensure_ascii=self.number(0, 1) == 1)

    def items(self, depth: int) -> str:
        texts = [self.argument(0 if depth == 0 else depth - 1) for _ in range(self.number(0, 3))]
        return f"({' '.join(['list', *texts])})"

    def moment(self) -> str:
        if self.number(0, 2) == 0:
            return str(self.number(0, 2_000_000_000))
        read = self.pick(
            (
                '(toDate "2006-01-02T15:04:05Z07:00" .DEND)',
                '(toDate "2006-01-02" (Date .DSTART))',
                '(toDate "Jan _2 2006 3:04PM" "Feb 28 2024 12:01AM")',
                '(toDate "02.01.06 15:04" "29.02.24 7:04")',
                '(toDate "2 January 2006 -0700" "9 May 2021 -0330")',
            )
        )
        return f"(date_modify `{self.pick(_DURATIONS)}` {read})"

    def truth(self, depth: int) -> str:
        match self.number(0, 4 if depth else 1):
            case 0:
                return self.pick(("true", "false", ".proj", ".missing", '(index . "secret")'))
            case 1:
                return self.argument(0)
            case 2:
                return f"({self.pick(('eq', 'ne'))} {self.argument(depth - 1)} {self.argument(depth - 1)})"
            case 3:
                return f"(not {self.truth(depth - 1)})"
        values = " ".join(self.truth(depth - 1) for _ in range(self.number(1, 3)))
        return f"({self.pick(('and', 'or'))} {values})"


@st.composite
def templates(draw: st.DrawFn) -> str:
    """A template that both parse; rendering it can fail, and then must fail in both."""
    return Templates(draw).body(2)


@st.composite
def damaged_templates(draw: st.DrawFn) -> str:
    """A template with a piece taken out, doubled or replaced by another."""
    source = draw(templates()) or "{{.DSTART}}"
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(source)))
        end = min(len(source), start + draw(st.integers(0, 6)))
        piece = draw(st.sampled_from(_PIECES)) if draw(st.booleans()) else source[start:end] * 2
        source = source[:start] + piece + source[end:]
    return source


_PIECES = (
    *(
        "",
        " ",
        "-",
        " -",
        "- ",
        "{{",
        "}}",
        "{{- ",
        " -}}",
        "(",
        ")",
        ".",
        "..",
        "|",
        '"',
        "`",
        "\\",
        "$",
        ":=",
    ),
    *(
        "=",
        ",",
        "0",
        "1_0",
        "0x1",
        "1.5",
        "'a'",
        "nil",
        "true",
        "end",
        "else",
        "{{end}}",
        "{{else}}",
        "break",
    ),
    *("/*", "*/", "\n", "\u00a0", "ž", ".proj", "list", "len", "print", "_2", "002", "Z07:00:00"),
)


class GoProgram:
    """The running program: one line of JSON with a template goes in, one with the result comes out."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def render(self, source: str, data: dict[str, object]) -> str | None:
        """Return the text, or None if Go reports an error."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps({"source": source, "data": data}) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        return None if answer["error"] else answer["text"]


@contextmanager
def running_go(folder: Path) -> Iterator[GoProgram]:
    """Build the program in the folder and run it. Go's local zone is UTC, as in our containers."""
    binary = folder / "go_templates"
    subprocess.run(["go", "build", "-o", str(binary), "."], cwd=PROGRAM, check=True, timeout=300)
    pipe = subprocess.PIPE
    environment = {**os.environ, "TZ": "UTC"}
    with subprocess.Popen([str(binary)], stdin=pipe, stdout=pipe, text=True, env=environment) as process:
        yield GoProgram(process)
        assert process.stdin
        process.stdin.close()
