"""SQL as text: statements without comments, and without what is within quotes. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

# In this order: what begins first hides the rest.
_TOKEN = re.compile(
    r"""
      (?P<comment>--[^\n]*|/\*.*?\*/)
    | (?P<body>\$(?P<tag>\w*)\$.*?\$(?P=tag)\$)
    | (?P<text>[eE]'(?:[^'\\]|\\.|'')*'|'(?:[^']|'')*')
    | "(?P<name>(?:[^"]|"")*)"
    | (?P<end>;)
    | (?P<space>\s+)
    | (?P<other>\w+|.)
    """,
    re.VERBOSE | re.DOTALL,
)


def statements(sql: str) -> list[str]:
    """Return the statements with single spaces, names without quotes, '' for texts and $$ for bodies."""
    return [statement for statement in (_joined(part) for part in _parts(sql)) if statement]


def statements_of(scripts: Iterable[str]) -> list[str]:
    """Return the statements of several scripts, in their order."""
    return [statement for script in scripts for statement in statements(script)]


def _parts(sql: str) -> Iterator[list[str]]:
    words: list[str] = []
    for match in _TOKEN.finditer(sql):
        if match["end"]:
            yield words
            words = []
        else:
            words.append(_word(match))
    yield words


def _word(match: re.Match[str]) -> str:
    if match["comment"] or match["space"]:
        return " "
    if match["body"]:
        return "$$"
    if match["text"]:
        return "''"
    name = match["name"]
    return match.group() if name is None else _plain(name)


def _plain(name: str) -> str:
    """Return a quoted name as one word, whatever is in it."""
    return re.sub(r"\W", "_", name)


def _joined(words: list[str]) -> str:
    return " ".join("".join(words).split())


@dataclass(frozen=True, slots=True)
class Clause:
    """A statement, or one action of ALTER TABLE. table: the one that it is about; empty if there is none."""

    table: str
    text: str


_TABLE = r"(?:ONLY )?(?:public\.)?(?P<table>\w+)"
_ABOUT = tuple(
    re.compile(start + _TABLE, re.IGNORECASE)
    for start in (
        "CREATE (?:UNLOGGED )?TABLE (?:IF NOT EXISTS )?",
        r"CREATE (?:UNIQUE )?INDEX .*?\bON ",
        r"CREATE (?:OR REPLACE )?(?:CONSTRAINT )?TRIGGER .*?\bON ",
        "UPDATE ",
        "DELETE FROM ",
        "TRUNCATE (?:TABLE )?",
        "LOCK (?:TABLE )?",
        r"CLUSTER (?:\(.*?\) )?",
        r"VACUUM (?:\(.*?\) |FULL )?",
        "DROP TABLE (?:IF EXISTS )?",
    )
)
_ALTER = re.compile(rf"ALTER TABLE (?:IF EXISTS )?{_TABLE} (?P<actions>.*)", re.IGNORECASE)


def clauses(statement: str) -> list[Clause]:
    """Return the actions of ALTER TABLE one by one, and any other statement as it is."""
    if altered := _ALTER.fullmatch(statement):
        return [
            Clause(altered["table"], f"ALTER TABLE {altered['table']} {action}")
            for action in _divided(altered["actions"])
        ]
    for pattern in _ABOUT:
        if match := pattern.match(statement):
            return [Clause(match["table"], statement)]
    return [Clause("", statement)]


def _divided(actions: str) -> Iterator[str]:
    """Divide at the commas that are in no brackets."""
    depth, begin = 0, 0
    for position, letter in enumerate(actions):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and not depth:
            yield actions[begin:position].strip()
            begin = position + 1
    yield actions[begin:].strip()
