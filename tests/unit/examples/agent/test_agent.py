"""What the reference agent makes of a refusal."""

from __future__ import annotations

import importlib.util
import sys

import pytest

from tests.support.paths import ROOT

PATH = ROOT / "examples" / "agent" / "agent.py"


@pytest.fixture(scope="module")
def program():
    # As for the program itself: its folder is where it finds its other file.
    sys.path.insert(0, str(PATH.parent))
    spec = importlib.util.spec_from_file_location("reference_agent", PATH)
    module = importlib.util.module_from_spec(spec)
    sys.modules["reference_agent"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["reference_agent"], sys.modules["control_plane"]
    sys.path.remove(str(PATH.parent))


@pytest.fixture
def agent(program, tmp_path):
    (tmp_path / "token").write_text("cp_agt_own")
    plane = program.ControlPlane("http://127.0.0.1:9", "cp_joi_given", str(tmp_path / "token"))
    made = program.Agent(plane, {"name": "a", "service_types": []}, None)
    made.id, made.offered = "known", {"vms": ("p1", {})}
    return made


@pytest.mark.parametrize("status", [429, 503])
def test_it_waits_no_less_than_retry_after_and_stays_registered(program, agent, status):
    waits = [agent.after(program.Refused(status, "busy", 7.0)) for _ in range(40)]

    assert min(waits) >= 7
    assert max(waits) <= 7 + agent.interval
    assert agent.id == "known"


@pytest.mark.parametrize("status", [404, 410])
def test_who_is_forgotten_registers_again_soon(program, agent, status):
    assert agent.after(program.Refused(status, "unknown agent", 0)) <= 1
    assert (agent.id, agent.offered) == ("", {})


def test_a_token_that_is_refused_gives_way_to_the_one_that_was_given(program, agent):
    assert agent.plane.token == "cp_agt_own"

    agent.after(program.Refused(401, "revoked", 0))

    assert (agent.id, agent.offered, agent.plane.token) == ("", {}, "cp_joi_given")


def test_pauses_double_up_to_the_interval_with_full_jitter(program):
    for tries, limit in ((0, 1), (3, 8), (4, 16), (5, 30), (1000, 30)):
        pauses = [program.pause(tries, 30.0) for _ in range(300)]
        assert max(pauses) <= limit
        assert max(pauses) > 0.8 * limit
        assert min(pauses) < 0.2 * limit


@pytest.mark.parametrize("interval", [1, 30, 278])
def test_however_long_the_control_plane_was_away_the_next_try_comes_within_one_interval(agent, interval):
    """An outage of any length: after it, everybody is back within one interval and the 10 s of a call."""
    agent.interval = float(interval)
    longest = 0.0
    for _ in range(2000):
        longest = max(longest, agent.again("no answer"))

    assert longest <= interval


def test_the_interval_that_it_is_told_is_the_longest_pause(program, agent, monkeypatch):
    body = {"agent_id": "known", "generation": 0, "heartbeat_interval": 5, "next_heartbeat_in_seconds": 4.5}
    monkeypatch.setattr(agent.plane, "call", lambda *_, **__: body)
    agent.registered = {"name": "a", "service_types": []}

    assert agent.interval == program.UNTOLD_INTERVAL
    agent.beat()

    assert max(agent.again("no answer") for _ in range(100)) <= 5


def test_a_duplicate_waits_and_registers_again(program, agent):
    waits = [agent.after(program.Refused(409, "two", 20.0, "duplicate_instance")) for _ in range(30)]

    assert 20 <= min(waits) <= max(waits) <= 21
    assert (agent.id, agent.offered) == ("", {})


def test_a_join_is_repeated_with_its_key_even_after_a_crash(program, tmp_path, monkeypatch):
    idempotency_keys = []

    def lose(method, path, body, **headers):
        idempotency_keys.append(headers["Idempotency_Key"])
        raise OSError("the answer is lost")

    file = str(tmp_path / "token")
    for _ in range(2):  # two processes
        plane = program.ControlPlane("http://127.0.0.1:9", "cp_joi_given", file)
        monkeypatch.setattr(plane, "call", lose)
        for _ in range(2):
            with pytest.raises(OSError, match="lost"):
                plane.join({})
    assert len(idempotency_keys) == 4
    assert len(set(idempotency_keys)) == 1
    assert (tmp_path / "token.join").stat().st_mode & 0o077 == 0

    monkeypatch.setattr(plane, "call", lambda *_, **__: {"token": "cp_agt_x", "agent": {"agent_id": "a"}})
    assert plane.join({}) == {"agent_id": "a"}
    assert plane.token == (tmp_path / "token").read_text() == "cp_agt_x"
    assert not (tmp_path / "token.join").exists()


def test_its_own_token_is_kept_for_nobody_else_to_read(program, agent, tmp_path, monkeypatch):
    monkeypatch.setattr(agent.plane, "call", lambda *_, **__: {"token": "cp_agt_new", "agent": {}})
    agent.plane.join({})

    assert (tmp_path / "token").read_text() == "cp_agt_new"
    assert (tmp_path / "token").stat().st_mode & 0o077 == 0


def test_a_providers_file_that_cannot_be_read_changes_nothing(program, tmp_path, agent):
    file = tmp_path / "providers.json"
    providers = program.Providers(str(file), agent.stopping)
    file.write_text('[{"name": "vms"}]')
    assert providers.read() == [{"name": "vms"}]

    file.write_text("[{")

    assert providers.read() == [{"name": "vms"}]
