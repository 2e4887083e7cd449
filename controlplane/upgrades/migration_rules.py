"""Rules for migrations that run while the previous release serves requests, by their SQL. Pure.

What a migration creates may be anything: nobody uses it yet. What exists may only get more of what the
previous release can ignore, without a lock that lasts longer than a moment.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from controlplane.upgrades.phases import Phase
from controlplane.upgrades.sql_text import Clause, clauses, statements_of


@dataclass(frozen=True, slots=True)
class Finding:
    """A statement that a rule forbids. instead: what to write."""

    rule: str
    statement: str
    instead: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.statement[:160]}\n    {self.instead}"


@dataclass(frozen=True, slots=True)
class Script:
    """The SQL of one migration. made: tables that it creates. is_atomic: it is one transaction.

    widens: columns `table.column` of text that only get a higher limit.
    """

    clauses: Sequence[Clause]
    made: frozenset[str]
    phase: Phase = Phase.EXPAND
    is_atomic: bool = True
    widens: frozenset[str] = frozenset()


def check(
    sql: Iterable[str],
    *,
    phase: Phase = Phase.EXPAND,
    is_atomic: bool = True,
    widens: Iterable[str] = (),
) -> list[Finding]:
    """Return what the rules forbid in the SQL of a migration, in the order of its statements."""
    found = [clause for statement in statements_of(sql) for clause in clauses(statement)]
    made = frozenset(clause.table for clause in found if _CREATES_TABLE.match(clause.text))
    script = Script(found, made, phase, is_atomic, frozenset(widens))
    return [finding for clause in found if clause.table not in made for finding in _judge(clause, script)]


def _judge(clause: Clause, script: Script) -> Iterator[Finding]:
    for rule in RULES:
        if rule.forbidden.search(clause.text) and rule.applies(clause, script):
            yield Finding(rule.name, clause.text, rule.instead)


@dataclass(frozen=True, slots=True)
class Rule:
    """applies: whether what the pattern finds is forbidden in this migration."""

    name: str
    forbidden: re.Pattern[str]
    instead: str
    applies: Callable[[Clause, Script], bool] = lambda clause, script: True


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


_CREATES_TABLE = _pattern(r"^CREATE (UNLOGGED )?TABLE\b")
_ADD_COLUMN = (
    r"^ALTER TABLE \w+ ADD (?:COLUMN )?(?:IF NOT EXISTS )?(?!CONSTRAINT|CHECK|UNIQUE|PRIMARY|FOREIGN|EXCLUDE)"
)
# Functions with one value for all rows of a statement, which Postgres then stores once. The rest are types.
_STABLE_FUNCTIONS = ("now", "statement_timestamp", "transaction_timestamp", "make_interval")
_STABLE_VALUES = ("jsonb_build_object", "jsonb_build_array")
_TYPES = ("varchar", "numeric", "char", "timestamp", "time", "bit")
_STABLE = frozenset({*_STABLE_FUNCTIONS, *_STABLE_VALUES, *_TYPES})
_DEFAULT = _pattern(r"\bDEFAULT (?P<value>.*)")
_CALL = re.compile(r"(\w+) ?\(")
_DROPPED = _pattern(r"^DROP (?P<kind>\w+) (IF EXISTS )?(public\.)?(?P<name>\w+)")
_WIDENS = _pattern(r"ALTER (COLUMN )?(?P<column>\w+) TYPE varchar ?\(\d+\)$")
_DROPS_DEFAULT = _pattern(r"ALTER (COLUMN )?(?P<column>\w+) DROP DEFAULT")


def _in_expand(clause: Clause, script: Script) -> bool:
    return script.phase is Phase.EXPAND


def _is_not_replaced(clause: Clause, script: Script) -> bool:
    """Return whether the migration creates nothing of that kind and name in place of what it drops."""
    dropped = _DROPPED.match(clause.text)
    if dropped is None:
        return _in_expand(clause, script)
    again = _pattern(rf"^CREATE (OR REPLACE )?(\w+ )?{dropped['kind']} (public\.)?{dropped['name']}\b")
    return _in_expand(clause, script) and not any(again.match(each.text) for each in script.clauses)


def _has_volatile_default(clause: Clause, script: Script) -> bool:
    default = _DEFAULT.search(clause.text)
    calls = _CALL.findall(default["value"].partition(" CONSTRAINT ")[0]) if default else []
    return any(call.lower() not in _STABLE for call in calls)


def _was_required_here(clause: Clause, script: Script) -> bool:
    """Return whether the column whose default is dropped was added with NOT NULL by the migration."""
    dropped = _DROPS_DEFAULT.search(clause.text)
    column = dropped["column"] if dropped else ""
    added = _pattern(rf"{_ADD_COLUMN}{column}\b.*NOT NULL")
    return any(each.table == clause.table and added.search(each.text) for each in script.clauses)


def _does_not_widen(clause: Clause, script: Script) -> bool:
    """Return whether the type becomes another one. A higher limit of text only changes the catalogue."""
    widened = _WIDENS.search(clause.text)
    return widened is None or f"{clause.table}.{widened['column']}" not in script.widens


def _is_not_atomic(clause: Clause, script: Script) -> bool:
    return not script.is_atomic


RULES = (
    Rule(
        "rewrites_table",
        _pattern(
            rf"{_ADD_COLUMN}.*(\bSTORED\b|\bGENERATED (ALWAYS|BY DEFAULT) AS IDENTITY|\b(big|small)?serial\b)"
            r"|^ALTER TABLE \w+ SET (LOGGED|UNLOGGED|TABLESPACE|ACCESS METHOD)"
            r"|^VACUUM \(?.*FULL|^CLUSTER\b"
        ),
        "This writes the whole table again under a lock. Add a nullable column, and fill it by a backfill.",
    ),
    Rule(
        "changes_type",
        _pattern(r"^ALTER TABLE \w+ ALTER (COLUMN )?\w+ (SET DATA )?TYPE\b|^ALTER TYPE\b"),
        "Add a new column, write both, fill the new one by a backfill, and drop the old one a release later."
        " A higher limit of a text: name `table.column` in the migration’s `widens`.",
        _does_not_widen,
    ),
    Rule(
        "not_null",
        _pattern(rf"{_ADD_COLUMN}(?!.*(\bDEFAULT\b|GENERATED)).*NOT NULL|ALTER (COLUMN )?\w+ SET NOT NULL"),
        "The previous release writes rows without it. Make the column nullable, or give it `db_default`. Of"
        " an existing column: ADD CONSTRAINT … NOT NULL … NOT VALID, fill it, VALIDATE it a release later.",
    ),
    Rule(
        "loses_default",
        _DROPS_DEFAULT,
        "The previous release writes rows without the new column, and would fail. Use `db_default`.",
        _was_required_here,
    ),
    Rule(
        "volatile_default",
        _pattern(rf"{_ADD_COLUMN}.*\bDEFAULT\b"),
        "A value for each row writes the whole table again. Add the column without it, set the default in a"
        " second operation, and fill the rest by a backfill.",
        _has_volatile_default,
    ),
    Rule(
        "checks_all_rows",
        _pattern(r"^ALTER TABLE \w+ ADD (CONSTRAINT \w+ )?(CHECK|FOREIGN KEY|NOT NULL)\b(?!.*NOT VALID)"),
        "This reads the whole table under a lock. Add it NOT VALID, and VALIDATE it in the next migration.",
    ),
    Rule(
        "builds_index",
        _pattern(r"^ALTER TABLE \w+ ADD (CONSTRAINT \w+ )?(UNIQUE|PRIMARY KEY|EXCLUDE)\b(?!.*USING INDEX)"),
        "This builds an index under a lock. Create a unique index concurrently, then ADD CONSTRAINT … USING"
        " INDEX.",
    ),
    Rule(
        "builds_index",
        _pattern(r"^(CREATE (UNIQUE )?INDEX|REINDEX( \(.*?\))? \w+) (?!CONCURRENTLY)"),
        "This blocks writes until the index is built. Use AddIndexConcurrently, with `atomic = False`.",
    ),
    Rule(
        "drops_index",
        _pattern(r"^DROP INDEX (?!CONCURRENTLY)"),
        "This blocks reads while it waits. Use RemoveIndexConcurrently, with `atomic = False`.",
    ),
    Rule(
        "renames",
        _pattern(
            r"^ALTER (TABLE|VIEW|FUNCTION|SEQUENCE|SCHEMA|MATERIALIZED VIEW)\b.*\bRENAME\b(?! CONSTRAINT)"
        ),
        "The previous release uses the old name. Add a new one, use both, drop the old one a release later.",
    ),
    Rule(
        "drops",
        _pattern(
            r"^ALTER TABLE \w+ DROP (COLUMN )?(?!CONSTRAINT)(IF EXISTS )?\w+"
            r"|^DROP (TABLE|VIEW|MATERIALIZED|FUNCTION|SEQUENCE|TYPE|SCHEMA|TRIGGER)\b"
        ),
        "The previous release may use it. Drop it a release later, in a migration with `phase = 'contract'`"
        " and `unused_since`.",
        _is_not_replaced,
    ),
    Rule(
        "writes_rows",
        _pattern(r"^(UPDATE|DELETE FROM|TRUNCATE)\b"),
        "Changing all rows in one transaction holds their locks. Use a backfill (`manage.py backfill`).",
    ),
    Rule(
        "locks_table",
        _pattern(r"^LOCK\b"),
        "Others that use the table wait until the commit. Do without it, or lock rows.",
    ),
    Rule(
        "mixes_with_concurrent",
        _pattern(r"^(?!(CREATE (UNIQUE )?INDEX|DROP INDEX|REINDEX( \(.*?\))? \w+) CONCURRENTLY)"),
        "A migration that is not atomic waits for locks without a limit. Let it only build or drop indexes"
        " concurrently, and put the rest into another one.",
        _is_not_atomic,
    ),
)
