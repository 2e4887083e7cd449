"""What migrations may do while the previous release runs: what each rule finds, and what passes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.upgrades.migration_rules import RULES, check
from controlplane.upgrades.phases import Phase
from controlplane.upgrades.sql_text import clauses, statements

FORBIDDEN = [
    ("rewrites_table", 'ALTER TABLE "a" ADD COLUMN "n" int GENERATED ALWAYS AS (m + 1) STORED'),
    ("rewrites_table", "ALTER TABLE a ADD n bigserial"),
    ("rewrites_table", "ALTER TABLE a SET UNLOGGED"),
    ("rewrites_table", "VACUUM (FULL) a"),
    ("rewrites_table", "CLUSTER a USING a_key"),
    ("changes_type", 'ALTER TABLE "a" ALTER COLUMN "n" TYPE bigint USING "n"::bigint'),
    ("changes_type", "ALTER TABLE a ALTER n SET DATA TYPE text"),
    ("changes_type", "ALTER TYPE mood ADD VALUE 'happy'"),
    ("not_null", 'ALTER TABLE "a" ADD COLUMN "n" integer NOT NULL'),
    ("not_null", 'ALTER TABLE "a" ALTER COLUMN "n" SET NOT NULL'),
    ("not_null", "ALTER TABLE a ADD x int NULL, ADD y int NOT NULL"),
    (
        "loses_default",
        "ALTER TABLE a ADD COLUMN n text DEFAULT '' NOT NULL; ALTER TABLE a ALTER COLUMN n DROP DEFAULT",
    ),
    ("volatile_default", "ALTER TABLE a ADD COLUMN n uuid DEFAULT gen_random_uuid()"),
    ("volatile_default", "ALTER TABLE a ADD COLUMN n timestamptz DEFAULT (clock_timestamp()) NOT NULL"),
    ("volatile_default", "ALTER TABLE a ADD COLUMN n int DEFAULT nextval('numbers')"),
    ("checks_all_rows", 'ALTER TABLE "a" ADD CONSTRAINT "few" CHECK ("n" < 10)'),
    ("checks_all_rows", "ALTER TABLE a ADD CONSTRAINT owner FOREIGN KEY (n) REFERENCES b (id)"),
    ("checks_all_rows", "ALTER TABLE a ADD CONSTRAINT has_n NOT NULL n"),
    ("builds_index", "ALTER TABLE a ADD CONSTRAINT one UNIQUE (n, m)"),
    ("builds_index", 'CREATE INDEX "by_n" ON "a" ("n")'),
    ("builds_index", "CREATE UNIQUE INDEX by_n ON a (n)"),
    ("builds_index", "REINDEX TABLE a"),
    ("drops_index", 'DROP INDEX IF EXISTS "by_n"'),
    ("renames", 'ALTER TABLE "a" RENAME TO "b"'),
    ("renames", 'ALTER TABLE "a" RENAME COLUMN "n" TO "m"'),
    ("drops", 'ALTER TABLE "a" DROP COLUMN "n" CASCADE'),
    ("drops", 'DROP TABLE "a" CASCADE'),
    ("drops", "DROP FUNCTION count_it()"),
    ("writes_rows", "UPDATE a SET n = 0"),
    ("writes_rows", "DELETE FROM a WHERE n = 0"),
    ("locks_table", "LOCK TABLE a IN SHARE MODE"),
]
ALLOWED = [
    'ALTER TABLE "a" ADD COLUMN "n" integer NULL',
    'ALTER TABLE "a" ADD COLUMN "n" varchar(10) DEFAULT \'now()\' NOT NULL',
    'ALTER TABLE "a" ADD COLUMN "n" timestamptz DEFAULT (STATEMENT_TIMESTAMP()) NOT NULL',
    'ALTER TABLE "a" ADD COLUMN "n" uuid NULL CONSTRAINT "fk" REFERENCES "b"("id") DEFERRABLE',
    'ALTER TABLE "a" ALTER COLUMN "n" DROP NOT NULL',
    'ALTER TABLE "a" ALTER COLUMN "n" SET DEFAULT gen_random_uuid()',
    'ALTER TABLE "a" ALTER COLUMN "n" DROP DEFAULT',
    "ALTER TABLE a ADD CONSTRAINT few CHECK (n < 10) NOT VALID",
    "ALTER TABLE a ADD CONSTRAINT has_n NOT NULL n NOT VALID",
    "ALTER TABLE a VALIDATE CONSTRAINT few",
    "ALTER TABLE a ADD CONSTRAINT one UNIQUE USING INDEX one_key",
    "ALTER TABLE a DROP CONSTRAINT few",
    "ALTER TABLE a RENAME CONSTRAINT few TO some",
    "CREATE TABLE a (n int NOT NULL); CREATE INDEX by_n ON a (n); ALTER TABLE a ADD CHECK (n > 1)",
    "DROP FUNCTION count_it(); CREATE FUNCTION count_it() RETURNS int LANGUAGE sql AS $$ DROP TABLE a; $$",
    "DROP TRIGGER moved ON a; CREATE TRIGGER moved AFTER UPDATE ON a EXECUTE FUNCTION move()",
    "INSERT INTO a VALUES ('; DROP TABLE a')",
    "-- DROP TABLE a;\n/* UPDATE a SET n = 0; */ SELECT 1",
]


def rules_of(sql: str, **more: object) -> list[str]:
    return [finding.rule for finding in check([sql], **more)]  # type: ignore[arg-type]


@pytest.mark.parametrize(("rule", "sql"), FORBIDDEN)
def test_each_rule_finds_what_it_forbids_and_nothing_else(rule: str, sql: str):
    assert rules_of(sql) == [rule]


@pytest.mark.parametrize("sql", ALLOWED)
def test_what_the_previous_release_can_ignore_passes(sql: str):
    assert rules_of(sql) == []


def test_every_rule_has_a_case_that_it_finds():
    assert {rule.name for rule in RULES} == {rule for rule, _ in FORBIDDEN} | {"mixes_with_concurrent"}


def test_contracting_migrations_may_drop_and_may_not_lock():
    drop = 'ALTER TABLE "a" DROP COLUMN "n"; DROP TABLE "b"'
    assert rules_of(drop, phase=Phase.CONTRACT) == []
    assert rules_of(drop) == ["drops", "drops"]
    assert rules_of("DROP INDEX by_n", phase=Phase.CONTRACT) == ["drops_index"]


def test_a_migration_that_is_not_atomic_only_builds_indexes_concurrently():
    index = "CREATE INDEX CONCURRENTLY by_n ON a (n)"
    assert rules_of(index, is_atomic=False) == []
    assert rules_of(f"{index}; ALTER TABLE a ADD m int", is_atomic=False) == ["mixes_with_concurrent"]
    assert rules_of("ALTER TABLE a ADD m int") == []


def test_a_column_may_get_a_higher_limit_of_text_and_no_other_type():
    wider = 'ALTER TABLE "a" ALTER COLUMN "n" TYPE varchar(40)'
    assert rules_of(wider) == ["changes_type"]
    assert rules_of(wider, widens=["a.n"]) == []
    assert rules_of(wider, widens=["b.n", "a.m"]) == ["changes_type"]
    assert rules_of("ALTER TABLE a ALTER COLUMN n TYPE int", widens=["a.n"]) == ["changes_type"]


def test_a_finding_says_which_statement_and_what_to_write_instead():
    (finding,) = check(["CREATE INDEX by_n ON a (n)"])
    assert "CREATE INDEX by_n ON a (n)" in str(finding)
    assert "AddIndexConcurrently" in str(finding)


def test_actions_are_divided_at_the_commas_outside_of_brackets():
    statement = "ALTER TABLE a ADD x numeric(3, 2) DEFAULT f(1, g(2, 3)), DROP y"
    assert [clause.text for clause in clauses(statement)] == [
        "ALTER TABLE a ADD x numeric(3, 2) DEFAULT f(1, g(2, 3))",
        "ALTER TABLE a DROP y",
    ]


@given(st.text(alphabet="ab;-'\"$ \n", max_size=30))
def test_nothing_within_quotes_is_a_statement(text: str):
    quoted = "'" + text.replace("'", "''") + "'"
    assert statements(f"SELECT {quoted}; SELECT $body${text}$body$") == ["SELECT ''", "SELECT $$"]
