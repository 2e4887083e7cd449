"""Read and check the connection settings of an agent in a document. Pure."""

from __future__ import annotations

import json
import re

from controlplane.formats import go_durations
from registry.agent_configs.documents.content import Deployment, Operation
from registry.agent_configs.documents.diagnostics import Code, Findings, Node, quote_value, suggest_name
from registry.agent_configs.documents.dialects import DialectNames
from registry.agent_configs.documents.endpoints import check_endpoint
from registry.agent_configs.documents.fields import read_entries, read_members, read_text
from registry.agent_configs.documents.limits import Limits

_FIELDS = ("endpoint", "insecure", "defaultServiceConfig", "timeouts", "defaultTimeout")
_ID = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")


def check_agent_id(name: str, node: Node, findings: Findings) -> None:
    if _ID.fullmatch(name):
        return
    hint = "Use lowercase letters, digits and inner hyphens, at most 63 characters."
    if _ID.fullmatch(name.lower()):
        hint = f"Write {name.lower()}: Flyte converts IDs to lower case, so mappings to other spellings fail."
    findings.error(node.place, Code.INVALID_AGENT_ID, f"{quote_value(name)} is not a valid agent ID.", hint)


def read_deployment(node: Node, names: DialectNames, limits: Limits, findings: Findings) -> Deployment | None:
    """Return the settings, or None if they have errors."""
    if node.value is None:
        findings.error(node.place, Code.SCHEMA_VIOLATION, "Flyte ignores an agent without settings.")
        return None
    before = len(findings.diagnostics)
    fields = read_members(node, _FIELDS, findings)
    endpoint = _endpoint(node, fields.get("endpoint"), limits, findings)
    deployment = Deployment(
        endpoint=endpoint or "",
        insecure=_insecure(node, fields.get("insecure"), limits, findings),
        service_config=_service_config(fields.get("defaultServiceConfig"), limits, findings),
        default_timeout=_duration(fields.get("defaultTimeout"), limits.longest_timeout, findings),
        timeouts=_timeouts(fields.get("timeouts"), names, limits, findings),
    )
    errors = [diagnostic for diagnostic in findings.diagnostics[before:] if diagnostic.severity == "error"]
    return None if errors else deployment


def _endpoint(owner: Node, node: Node | None, limits: Limits, findings: Findings) -> str | None:
    if node is None:
        if isinstance(owner.value, dict):
            findings.error(
                owner.place, Code.INVALID_ENDPOINT, "The agent has no endpoint.", "endpoint: host:port"
            )
        return None
    text = read_text(node, findings)
    if text is not None:
        check_endpoint(text, node.place, findings, limits.allowed_hosts)
    return text


def _insecure(owner: Node, node: Node | None, limits: Limits, findings: Findings) -> bool:
    if node is None:
        return False
    if not isinstance(node.value, bool):
        message = f"insecure must be true or false, not {quote_value(node.value)}."
        findings.error(node.place, Code.SCHEMA_VIOLATION, message, "Write it without quotation marks.")
        return False
    if node.value and limits.tls_required:
        findings.error(node.place, Code.TLS_REQUIRED, "TLS is required for agents.", "insecure: false")
    return node.value


def _service_config(node: Node | None, limits: Limits, findings: Findings) -> str:
    if node is None:
        return ""
    text = read_text(node, findings)
    if text is None:
        return ""
    if len(text.encode()) > limits.service_config_bytes or not _is_json_object(text):
        message = (
            f"defaultServiceConfig must be JSON of an object, at most {limits.service_config_bytes} bytes."
        )
        hint = """'{"loadBalancingConfig": [{"round_robin": {}}]}'"""
        findings.error(node.place, Code.INVALID_SERVICE_CONFIG, message, hint)
    return text


def _is_json_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text, parse_constant=_reject_constant), dict)
    except (ValueError, RecursionError):
        return False


def _reject_constant(word: str) -> None:
    raise ValueError(f"{word} is not valid JSON")


def _timeouts(
    node: Node | None, names: DialectNames, limits: Limits, findings: Findings
) -> dict[Operation, int]:
    operations = names.operations()
    timeouts = {}
    for name, value in read_entries(node, findings) if node else ():
        if name not in operations:
            message = f"Unknown operation {quote_value(name)}."
            findings.error(value.place, Code.UNKNOWN_FIELD, message, suggest_name(name, operations))
            continue
        is_list = operations[name] is Operation.LIST
        longest = limits.longest_list_timeout if is_list else limits.longest_timeout
        if (duration := _duration(value, longest, findings)) is not None:
            timeouts[operations[name]] = duration
    return dict(sorted(timeouts.items()))


def _duration(node: Node | None, longest: int, findings: Findings) -> int | None:
    if node is None:
        return None
    if not isinstance(node.value, str):
        message = f"A duration must be text such as 5s, not {quote_value(node.value)}."
        is_number = isinstance(node.value, int | float) and not isinstance(node.value, bool)
        hint = f"Flyte reads a number as nanoseconds. Did you mean {node.value}s?" if is_number else ""
        findings.error(node.place, Code.INVALID_DURATION, message, hint)
        return None
    try:
        duration = go_durations.parse(node.value)
    except ValueError:
        message = f"{quote_value(node.value)} is not a valid Go duration."
        findings.error(node.place, Code.INVALID_DURATION, message, "Units: h, m, s, ms, us, ns, as in 1m30s.")
        return None
    if not 0 < duration <= longest:
        message = f"A timeout must be greater than 0s and at most {go_durations.write(longest)}."
        findings.error(node.place, Code.INVALID_DURATION, message)
        return None
    return duration
