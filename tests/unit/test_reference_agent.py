"""What the reference agent makes of a refusal."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

PATH = Path(__file__).resolve().parents[2] / "examples" / "agent" / "agent.py"


@pytest.fixture(scope="module")
def program():
    spec = importlib.util.spec_from_file_location("reference_agent", PATH)
    module = importlib.util.module_from_spec(spec)
    sys.modules["reference_agent"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["reference_agent"]


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
    assert max(waits) <= 7 + program.LONGEST_PAUSE
    assert agent.id == "known"


@pytest.mark.parametrize("status", [404, 410])
def test_who_is_forgotten_registers_again_soon(program, agent, status):
    assert agent.after(program.Refused(status, "unknown agent", 0)) <= 1
    assert (agent.id, agent.offered) == ("", {})


def test_a_token_that_is_refused_gives_way_to_the_one_that_was_given(program, agent):
    assert agent.plane.token == "cp_agt_own"

    agent.after(program.Refused(401, "revoked", 0))

    assert (agent.id, agent.offered, agent.plane.token) == ("", {}, "cp_joi_given")


def test_pauses_double_up_to_five_minutes_with_full_jitter(program):
    for tries, limit in ((0, 1), (3, 8), (8, 256), (9, 300), (1000, 300)):
        pauses = [program.pause(tries) for _ in range(300)]
        assert max(pauses) <= limit
        assert max(pauses) > 0.8 * limit
        assert min(pauses) < 0.2 * limit


def test_its_own_token_is_kept_for_nobody_else_to_read(program, agent, tmp_path):
    agent.plane.keep("cp_agt_new")

    assert (tmp_path / "token").read_text() == "cp_agt_new"
    assert (tmp_path / "token").stat().st_mode & 0o077 == 0


def test_a_providers_file_that_cannot_be_read_changes_nothing(program, tmp_path, agent):
    file = tmp_path / "providers.json"
    providers = program.Providers(str(file), agent.stopping)
    file.write_text('[{"name": "vms"}]')
    assert providers.read() == [{"name": "vms"}]

    file.write_text("[{")

    assert providers.read() == [{"name": "vms"}]
