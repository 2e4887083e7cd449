"""Ids, back-off, settings, request ids: one behaviour each."""

import uuid

import pytest
from django.core.exceptions import ImproperlyConfigured

from controlplane.ids import uuid7, uuid7_from
from controlplane.local.supervisor import LONGEST_SECONDS, next_delay
from controlplane.observability.request_ids import choose
from controlplane.settings import environment as env


def test_a_uuid7_says_its_version_and_sorts_by_time():
    earlier, later = uuid7_from(1000, 2**80 - 1), uuid7_from(1001, 0)

    assert earlier.version == later.version == 7
    assert earlier.variant == uuid.RFC_4122
    assert earlier < later
    assert uuid7() != uuid7()


def test_back_off_doubles_to_a_limit_and_forgets_after_a_minute_of_life():
    delays = [next_delay(None, lived=0)]
    for _ in range(8):
        delays.append(next_delay(delays[-1], lived=1))

    assert delays[:4] == [0.5, 1, 2, 4]
    assert delays[-1] == LONGEST_SECONDS
    assert next_delay(30, lived=60) == 0.5


def test_a_required_setting_that_is_missing_is_named(monkeypatch):
    monkeypatch.delenv("TEST_NAME", raising=False)

    with pytest.raises(ImproperlyConfigured, match=r"TEST_NAME is required but not set\. .*: The name\."):
        env.text("TEST_NAME", default=None, meaning="The name.")


@pytest.mark.parametrize("raw", ["x", "-1", "1.5"])
def test_a_number_that_is_none_stops_the_start(monkeypatch, raw):
    monkeypatch.setenv("TEST_NUMBER", raw)

    with pytest.raises(ImproperlyConfigured, match="TEST_NUMBER is invalid"):
        env.integer("TEST_NUMBER", default=1, meaning="")


def test_a_boolean_is_never_guessed(monkeypatch):
    monkeypatch.setenv("TEST_FLAG", "maybe")

    with pytest.raises(ImproperlyConfigured, match="neither true nor false"):
        env.boolean("TEST_FLAG", default=False, meaning="")


def test_a_secret_may_lie_in_a_file(monkeypatch, tmp_path):
    (tmp_path / "secret").write_text("hidden\n")
    monkeypatch.setenv("TEST_SECRET_FILE", str(tmp_path / "secret"))

    assert env.text("TEST_SECRET", default=None, meaning="") == "hidden"


@pytest.fixture(autouse=True)
def _forget_test_settings():
    yield
    for name in [name for name in env.DECLARED if name.startswith("TEST_")]:
        del env.DECLARED[name]


@pytest.mark.parametrize("forged", ["a b", "a\nb", "x" * 65, "", "é", None])
def test_a_request_id_that_could_forge_a_log_line_is_replaced(forged):
    assert choose(forged) != forged
    assert choose("Abc-1._") == "Abc-1._"
