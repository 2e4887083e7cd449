"""PoolService over gRPC: leases with Flyte's status numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import grpc
import pytest

from controlplane.pools.models import Pool, PoolLease
from controlplane.scopes import Scope
from overrides.flyte.pool_service import wire
from tests.conftest import ROOT
from tests.support.api_client import token_for

SERVICE = "controlplane.pools.v1.PoolService"
PROTO = ROOT / "overrides/flyte/pool_service/pools.proto"
GRANTED, EXHAUSTED, QUOTA_EXCEEDED = 1, 2, 3
Call = Callable[..., Any]


@pytest.fixture
def channel(live) -> Iterator[grpc.Channel]:
    with grpc.insecure_channel(f"127.0.0.1:{live.grpc_port}") as channel:
        grpc.channel_ready_future(channel).result(timeout=30)
        yield channel


@pytest.fixture
def call(channel) -> Call:
    operator = token_for("operator")

    def run(rpc: str, token: str = operator, **fields: Any) -> Any:
        request = wire.message_class(f"{rpc}Request")(resource_namespace="agents", **fields)
        answer = wire.message_class(f"{rpc}Reply").FromString
        method = channel.unary_unary(f"/{SERVICE}/{rpc}", lambda message: message.SerializeToString(), answer)
        return method(request, metadata=(("authorization", f"Bearer {token}"),), timeout=20)

    return run


def acquire(call: Call, work: str, project: str = "shop", **fields: Any) -> Any:
    return call("Acquire", allocation_token=work, project=project, domain="prod", **fields)


def code_of(error: pytest.ExceptionInfo[grpc.RpcError]) -> grpc.StatusCode:
    return error.value.code()


def test_the_messages_are_those_of_the_file():
    text = PROTO.read_text()
    names = re.findall(r"^message (\w+)", text, re.MULTILINE)
    lines = [line for line in text.splitlines() if line.startswith("  ") and "//" not in line]
    fields = [len(wire.message_class(name).DESCRIPTOR.fields) for name in names]
    enums, calls = 4, len(wire.SERVICE.methods_by_name)
    assert sum(fields) + enums + calls == len(lines)


def test_units_are_leased_renewed_and_released(call):
    Pool.objects.create(name="agents", capacity=1)
    granted = acquire(call, "a")
    assert (granted.status, granted.epoch) == (GRANTED, 1)
    assert acquire(call, "a").lease_id == granted.lease_id
    full = acquire(call, "b")
    assert (full.status, full.reason) == (EXHAUSTED, "capacity at global: 1 of 1")
    renewed = call("Renew", lease_id=granted.lease_id, epoch=1)
    assert renewed.expires_at > granted.expires_at
    for _ in range(2):
        call("Release", allocation_token="a", project="shop", domain="prod")
    assert acquire(call, "b").status == GRANTED
    with pytest.raises(grpc.RpcError) as lost:
        call("Renew", lease_id=granted.lease_id, epoch=1)
    assert "Stop the work" in lost.value.details()
    assert PoolLease.objects.filter(door="grpc", state="granted").count() == 1


def test_constraints_of_a_call_are_caps_of_its_project_and_domain(call):
    Pool.objects.create(name="agents", capacity=9)
    one = wire.message_class("Constraints")(project_scope=1)
    assert acquire(call, "a", constraints=one).status == GRANTED
    assert acquire(call, "b", constraints=one).status == EXHAUSTED
    assert acquire(call, "b", constraints=one, strict_status=True).status == QUOTA_EXCEEDED
    assert acquire(call, "b", project="shop2", constraints=one).status == GRANTED
    assert (
        acquire(call, "b", constraints=wire.message_class("Constraints")(namespace_scope=2)).status == GRANTED
    )


def test_a_queued_request_gets_the_next_unit(call):
    Pool.objects.create(name="agents", capacity=1)
    acquire(call, "a")
    assert acquire(call, "b", queue=True).status == EXHAUSTED
    call("Release", allocation_token="a", project="shop", domain="prod")
    assert PoolLease.objects.get(token="b").state == "granted"


def test_refusals(call):
    Pool.objects.create(name="agents", capacity=1, max_units_per_lease=2)
    with pytest.raises(grpc.RpcError) as error:
        acquire(call, "a", units=3)
    assert code_of(error) == grpc.StatusCode.INVALID_ARGUMENT
    with pytest.raises(grpc.RpcError) as error:
        acquire(call, "")
    assert code_of(error) == grpc.StatusCode.INVALID_ARGUMENT
    with pytest.raises(grpc.RpcError) as error:
        acquire(call, "a", token=token_for("editor", scope=Scope(project="data")))
    assert code_of(error) == grpc.StatusCode.PERMISSION_DENIED
    with pytest.raises(grpc.RpcError) as error:
        acquire(call, "a", token="cp_pat_wrong")
    assert code_of(error) == grpc.StatusCode.UNAUTHENTICATED
    Pool.objects.all().delete()
    with pytest.raises(grpc.RpcError) as error:
        acquire(call, "a")
    assert code_of(error) == grpc.StatusCode.NOT_FOUND
