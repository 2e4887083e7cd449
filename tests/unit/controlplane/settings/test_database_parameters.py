"""Parameters of connections: a dead machine is noticed, several hosts mean the one that accepts writes."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from controlplane.settings.database_parameters import (
    FAILURE_DETECTION,
    django_database,
    read_url,
    with_limits,
    without_options,
)

THREE = "postgresql://me@a:5432,b:5433,c:5432/controlplane"


def test_a_dead_machine_is_noticed_within_twelve_seconds():
    parameters = read_url("DATABASE_URL", "postgresql://me@a/controlplane")
    assert {name: parameters[name] for name in FAILURE_DETECTION} == FAILURE_DETECTION
    silence = FAILURE_DETECTION["keepalives_idle"]
    assert silence + FAILURE_DETECTION["keepalives_interval"] * FAILURE_DETECTION["keepalives_count"] <= 12
    assert parameters.get("keepalives", 1) == 1
    assert "target_session_attrs" not in parameters, "One host is used as it is."


def test_of_several_hosts_the_one_that_accepts_writes_is_used():
    parameters = read_url("DATABASE_URL", THREE)
    assert (parameters["host"], parameters["port"]) == ("a,b,c", "5432,5433,5432")
    assert parameters["target_session_attrs"] == "read-write"


def test_what_the_url_says_wins():
    url = f"{THREE}?target_session_attrs=any&connect_timeout=9&keepalives_idle=60"
    parameters = read_url("DATABASE_URL", url)
    assert (parameters["target_session_attrs"], parameters["connect_timeout"]) == ("any", "9")
    assert parameters["keepalives_idle"] == "60"


def test_a_url_that_is_none_names_its_setting():
    with pytest.raises(ValueError, match="DATABASE_DIRECT_URL is invalid"):
        read_url("DATABASE_DIRECT_URL", "postgresql://a@b/c?colour=blue")


def test_limits_are_added_to_options_and_a_pooler_gets_none():
    parameters = with_limits({"options": "-c search_path=cp"}, {"lock_timeout": "2000"})
    assert parameters["options"] == "-c search_path=cp -c lock_timeout=2000"
    assert without_options(parameters) == {}


def test_django_gets_its_own_names():
    django = django_database(read_url("DATABASE_URL", THREE))
    assert (django["HOST"], django["NAME"], django["USER"]) == ("a,b,c", "controlplane", "me")
    assert "host" not in django["OPTIONS"]


def settings_of(**environment: str) -> subprocess.CompletedProcess[str]:
    program = (
        "from controlplane.settings import database as d; print(d.DATABASES['default'], d.DATABASE_DIRECT)"
    )
    return subprocess.run(
        [sys.executable, "-c", program],
        env={"PATH": os.environ["PATH"], **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_replicas_are_standbys_with_the_same_limits_and_any_of_them_will_do():
    program = (
        "from controlplane.settings import database as d;"
        "print(d.DATABASES.get('replica'), d.DATABASE_ROUTERS)"
    )
    environment = {"PATH": os.environ["PATH"], "DATABASE_REPLICA_URL": "postgresql://me@a,b/cp"}
    command = [sys.executable, "-c", program]
    shown = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    assert "'target_session_attrs': 'standby', 'load_balance_hosts': 'random'" in shown
    assert "statement_timeout=5000" in shown
    assert "ReplicaRouter" in shown
    del environment["DATABASE_REPLICA_URL"]
    shown = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    assert shown == "None []\n"


def test_behind_a_pooler_connections_bring_no_options_and_cursors_stay_here():
    pooled = settings_of(
        DATABASE_URL="postgresql://me@pooler:6432/cp",
        DATABASE_DIRECT_URL="postgresql://me@primary/cp",
        DATABASE_POOLER="transaction",
    )
    django, direct = pooled.stdout.split("} {")
    assert "statement_timeout" not in django
    assert "'DISABLE_SERVER_SIDE_CURSORS': True" in django
    assert "'host': 'primary'" in direct
    assert "statement_timeout=5000" in direct


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        (
            {"DATABASE_POOLER": "session"},
            "DATABASE_POOLER is invalid: 'session' is not one of none, transaction",
        ),
        (
            {"DATABASE_POOLER": "transaction"},
            "but DATABASE_DIRECT_URL is not set. Set it to the URL of Postgres",
        ),
    ],
)
def test_a_pooler_that_cannot_work_is_refused_at_start(environment, message):
    refused = settings_of(**environment)
    assert refused.returncode != 0
    assert message in refused.stderr
