"""`manage.py up` that cannot start names the reason and the next step, and starts nothing."""

from __future__ import annotations

import socket

import pytest

from controlplane.local.programs import free_port
from tests.support.launcher import Up


@pytest.mark.parametrize(
    ("setting", "address"),
    [("DATABASE_URL", "postgresql://nobody@127.0.0.1:1/x"), ("NATS_URL", "nats://127.0.0.1:1")],
)
def test_a_service_of_your_own_that_does_not_answer_is_named(tmp_path, setting, address):
    starting = Up(tmp_path / "data", **{setting: address})

    assert starting.process.wait(40) == 1
    assert "Traceback" not in starting.output
    assert setting in starting.output.splitlines()[-2] + starting.output.splitlines()[-1]


def test_a_queue_of_your_own_that_does_not_answer_is_named_before_anything_starts(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    url = f"redis://:secret@127.0.0.1:{free_port()}/0"
    starting = Up(tmp_path_factory.mktemp("given") / "data", REDIS_URL=url)

    assert starting.process.wait(60) == 1
    assert "REDIS_URL is set, but the service at redis://:***@127.0.0.1" in starting.output
    assert "unset REDIS_URL to use the built-in one" in starting.output
    assert not (starting.data_dir / "postgres").exists()


def test_a_port_of_nats_that_is_taken_is_a_clear_error(tmp_path_factory: pytest.TempPathFactory) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        folder = tmp_path_factory.mktemp("taken") / "data"
        starting = Up(folder, "--no-demo", "--nats-port", str(port))
        starting.process.wait(60)
    assert (
        f"Port {port} is already in use. Choose another port: make up NATS_PORT={port + 1}" in starting.output
    )


def test_a_port_that_is_no_port_is_a_clear_error(tmp_path_factory: pytest.TempPathFactory) -> None:
    starting = Up(tmp_path_factory.mktemp("port") / "data", port=70000)

    assert starting.process.wait(60) != 0
    assert "'70000' is not a port" in starting.output
    assert not starting.data_dir.exists()
