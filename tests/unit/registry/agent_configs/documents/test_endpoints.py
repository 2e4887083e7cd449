"""Endpoints: what propeller can reach, and what it must never be sent to."""

from __future__ import annotations

import pytest

from registry.agent_configs.documents.diagnostics import Findings, Place
from registry.agent_configs.documents.endpoints import check_endpoint


def codes(text: str, *allowed: str) -> list[str]:
    findings = Findings()
    check_endpoint(text, Place(), findings, frozenset(allowed))
    return [diagnostic.code.value for diagnostic in findings.diagnostics]


@pytest.mark.parametrize(
    "text",
    [
        "agent.acme.svc.cluster.local:8000",
        "agent.acme.:1",
        "10.1.2.3:65535",
        "[2001:db8::1]:8000",
        "dns:///agent.acme:8000",
        "k8s://agent.acme:8000",
        "k8s://agent.acme:grpc",
        "k8s://acme/agent:8000",
        "k8s:///agent.acme:http-2",
    ],
)
def test_forms_that_propeller_knows(text):
    assert codes(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "agent.acme",
        "agent.acme:",
        "agent.acme:0",
        "agent.acme:65536",
        "agent.acme:+1",
        "agent.acme:grpc",
        "agent.acme:\u0661",
        ":8000",
        "under_score.acme:8000",
        "-agent.acme:8000",
        "agent..acme:8000",
        "a" * 64 + ".acme:8000",
        "user@agent.acme:8000",
        "agent.acme:8000/path",
        "agent.acme:8000?query",
        "agent.acme:8000#part",
        "http://agent.acme:8000",
        "passthrough:///agent.acme:8000",
        "dns://8.8.8.8/agent.acme:8000",
        "dns://agent.acme:8000",
        "2001:db8::1:8000",
        "[agent.acme]:8000",
        "[10.0.0.1]:8000",
        "[fe80::1%eth0]:8000",
        "2130706433:8000",
        "0x7f000001:8000",
        "0x7f.1:8000",
        "127.1:8000",
        "0177.0.0.1:8000",
        "k8s://acme/:8000",
        "k8s://acme/agent:",
        "k8s://agent.acme:PORT",
        "k8s://a.b.c:8000",
        "k8s://a/b.c:8000",
        "k8s://agent:8000",
        "agent acme:8000",
        "agent.acme:8000\n",
    ],
)
def test_what_is_no_endpoint(text):
    assert set(codes(text)) == {"InvalidEndpoint"}


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LocalHost.",
        "agent.localhost",
        "127.0.0.1",
        "127.9.9.9",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "0.0.0.0",
        "[::]",
        "169.254.169.254",
        "[fe80::1]",
        "[fd00:ec2::254]",
        "100.100.100.200",
        "168.63.129.16",
        "metadata.google.internal",
        "224.0.0.1",
    ],
)
@pytest.mark.parametrize("scheme", ["", "dns:///"])
def test_the_machine_itself_and_metadata_services_are_denied(scheme, host):
    assert codes(f"{scheme}{host}:8000") == ["AddressDenied"]


@pytest.mark.parametrize(
    ("host", "allowed"),
    [
        ("localhost", "localhost"),
        ("127.0.0.1", "127.0.0.0/8"),
        ("169.254.1.1", "169.254.1.1"),
        ("[::1]", "::1"),
    ],
)
def test_what_is_denied_can_be_allowed(host, allowed):
    assert codes(f"{host}:8000", allowed) == []
    assert codes("169.254.169.254:8000", allowed) == ["AddressDenied"]


def test_a_host_without_a_namespace_is_a_warning():
    assert codes("agent:8000") == ["RelativeHost"]
