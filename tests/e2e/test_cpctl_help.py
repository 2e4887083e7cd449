"""Every example that `cpctl … --help` prints is run, as it is printed, against a real server."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import fields
from io import StringIO
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import click
import pytest
import yaml
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.test import Client
from django.utils import timezone

from controlplane.access.models import Principal, PrincipalKind
from controlplane.access.models import Session as ConsoleSession
from controlplane.delivery.models import Delivery
from controlplane.identity.roles import Role
from controlplane.messaging.models import DeadLetter
from controlplane.notifications.models import Alert
from cpctl.errors import CpctlError
from cpctl.exits import Exit
from cpctl.lazy import COMMANDS, build
from cpctl.main import app
from cpctl.session import SESSION, Session
from registry.agents.models import Agent
from registry.agents.states import State
from registry.api.jobs.examples import JOB
from registry.api.plugins import examples as plugin_examples
from tests.api.registry.agent_configs.test_agent_configs import text
from tests.support.api_client import AGENT, Api, logged_in, token_for
from tests.support.cpctl_runner import Cpctl
from tests.support.described_server import request_example
from tests.support.login_samples import login_files, make_logins
from tests.support.paths import ROOT
from tests.support.played_agent import PlayedAgent
from tests.support.plugin_sets import release_plugins
from tests.support.webhook_receiver import Receiver, running_receiver

# Stands for the id of a thing that only the installation knows.
AN_ID = "019a9f5e-7c00-7000-8000-000000000031"
# Go on until somebody ends them.
ENDLESS = (
    *("events watch", "events follow", "listen", "agents watch", "get agents --watch"),
    "effective --watch",
)
# They need a release of plugins: tests/integration/cpctl/test_plugins_server.py runs them.
NEEDS_PLUGINS = "plugins "
# They confirm a pending change. Here there is none, and they say so.
NOTHING_WAITS = ("overrides confirm", "agent-configs planes approve", "agent-configs sources confirm")
PROVIDERS = ("agents providers show", "agents providers history", "agents providers remove")
NEEDS_FLYTE = "import flyteadmin"
# This server has no keys, so nobody has signed its snapshot. Its agent gets no requests.
FINDS_A_DIFFERENCE = ("diff", "effective verify", "agents test")
# They wait for a person: test_cpctl_login.py plays one.
WAITING = ("--browser", "--device")
# These end what other examples are about.
_LAST = (
    "delete",
    "remove",
    "revoke",
    "withdraw",
    "retire",
    "deregister",
    "disable",
    "logout",
    "delete-context",
    "delete-rule",
    "delete-channel",
)
# It needs what another example has deleted.
_AFTER_ALL = ("undelete",)
_TWELVE = 12
VM = {"service_type": "vm", "spec": {"vcpu": {"count": 2}}, "placement": {"agent": "vm-agent"}}


def commands() -> Iterator[tuple[str, click.Command]]:
    for name in COMMANDS:
        yield from _below(name, build(name))


def _below(path: str, command: Any) -> Iterator[tuple[str, click.Command]]:
    """Commands that do something themselves."""
    subcommands = getattr(command, "commands", {})
    if not subcommands or command.invoke_without_command:
        yield path, command
    for name, subcommand in subcommands.items():
        if not subcommand.hidden:
            yield from _below(f"{path} {name}", subcommand)


def examples(help: str) -> list[str]:
    lines = (line.strip() for line in help.splitlines())
    return [line.removeprefix("cpctl ") for line in lines if line.startswith("cpctl ")]


ALL = [*commands()]
EXAMPLES = [(path, line, command) for path, command in ALL for line in examples(command.help or "")]


@pytest.fixture
def receiver(settings: Any) -> Iterator[Receiver]:
    # As the server has it.
    settings.OUTGOING_ALLOWED_NETWORKS, settings.WEBHOOK_ALLOW_HTTP = ["127.0.0.0/8"], True
    with running_receiver() as receiver:
        yield receiver


@pytest.fixture
def place(live: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, receiver: Receiver) -> Iterator[Cpctl]:
    """A server with what the examples name, and a folder with their files."""
    admin = token_for("admin")
    _files(tmp_path, admin, receiver.url)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CPCTL_SERVER", live.url)
    monkeypatch.setenv("CPCTL_TOKEN", admin)
    monkeypatch.setenv("CPCTL_CONFIG", str(tmp_path / "config.json"))
    monkeypatch.setenv("EDITOR", "sed -i 1s/^/#/")
    monkeypatch.delenv("VISUAL", raising=False)
    yield Cpctl(tmp_path, live.url, admin, {"RECEIVER": receiver.url})
    for field in fields(Session):
        setattr(SESSION, field.name, field.default)


def test_every_command_has_an_example_that_begins_with_its_name():
    without = [path for path, command in ALL if not examples(command.help or "")]
    strange = [path for path, subcommand in ALL if not examples(subcommand.help or " ")[0].startswith(path)]

    assert (without, strange) == ([], [])


def _turn(verb: str) -> int:
    return 2 if verb in _AFTER_ALL else int(verb in _LAST)


def test_every_example_of_the_help_works(place):
    ids = make_world(place)
    for context in ("staging", "production"):
        run(place, f"config set-context {context} --server {place.server}", None)
    lines = []
    for path, line, command in sorted(EXAMPLES, key=lambda example: _turn(example[0].split()[-1])):
        if line.startswith(ENDLESS) or line.endswith(WAITING) or path == NEEDS_FLYTE:
            continue
        if line.startswith(NEEDS_PLUGINS) and path != "plugins validate":
            continue
        code, output = run(place, line.replace(AN_ID, ids.get(path, AN_ID)), command)
        fine = {Exit.OK, Exit.DIFFERS} if path in FINDS_A_DIFFERENCE else {Exit.OK}
        if path in NOTHING_WAITS:
            fine = {Exit.USAGE} if re.search(r"^(error: )?No (change|removal)\b", output, re.M) else fine
        if code not in fine:
            lines.append(f"cpctl {line}: {code} {output[:300]}")

    assert lines == [], "\n".join(lines)


def test_examples_that_go_on_until_they_are_ended(place):
    make_world(place)
    endless = [shlex.split(line) for _, line, _ in EXAMPLES if line.startswith(ENDLESS)]
    started = [place.start(*arguments) for arguments in endless]
    assert len(started) >= 3

    for process in started:
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(1)
    for process in started:
        process.send_signal(signal.SIGINT)
    assert {process.wait(60) for process in started} == {Exit.INTERRUPTED}


def test_examples_of_the_whole_program_work(place):
    make_world(place)
    lines = examples(app.info.help or "")
    assert len(lines) >= 5

    for line in lines:
        if not line.startswith(ENDLESS):
            code, output = run(place, line, None)
            assert code in (Exit.OK, Exit.DIFFERS), (line, output)


def run(place: Cpctl, line: str, command: click.Command | None) -> tuple[int, str]:
    """Run a line here, with what a shell would do for it; nobody is asked."""
    line = line.replace("http://localhost:8000", place.server)
    words = shlex.split(line.replace("https://hooks.example.com/cp", place.environment["RECEIVER"]))
    target = None
    if ">" in words:
        words, target = words[: words.index(">")], words[-1]
    if command and any("--yes" in param.opts for param in command.params) and "--yes" not in words:
        words.append("--yes")
    string_io = StringIO()
    try:
        with redirect_stdout(string_io), redirect_stderr(string_io):
            app(["--no-input", *words], prog_name="cpctl", standalone_mode=False)
        code = 0
    except CpctlError as error:
        code = int(error.exit)
        string_io.write(" ".join(error.lines()))
    except Exception as error:  # typer brings a click of its own, whose errors have an exit code
        code = getattr(error, "exit_code", int(Exit.BUG))
        string_io.write(f"{type(error).__name__} {error}")
    finally:
        SESSION._chosen = None
    if target:
        Path(target).write_text(string_io.getvalue())
    return code, string_io.getvalue()


def _done(answer: Any) -> Any:
    assert answer.status_code < 300, answer.content
    return answer.json() if answer.content else {}


def make_world(place: Cpctl) -> dict[str, str]:
    """What the examples name. Returns the ids that they leave out, by command."""
    admin, receiver_url = Api(place.token), place.environment["RECEIVER"]
    for project in ("flytesnacks", "billing"):
        _done(admin.post("scopes/projects", {"id": project}))
    templates = (ROOT / "examples/resource-types/cluster_resource_templates.yaml").read_text()
    _done(admin.post("resource-types", yaml.safe_load(templates)["definition"]))
    _make_history(admin)
    provider = _make_agents(admin)
    letters = _make_resources(admin)
    _done(admin.post("principals", {"name": "ada", "kind": "service"}))
    _done(admin.post("teams", {"slug": "ml"}))
    for name in ("acme-ci", "flyte-eu-1", "cluster-eu-prod"):
        _done(admin.post("principals", {"name": name, "kind": "service"}))
    _make_configurations(admin)
    token = _done(admin.post("tokens", {"name": "old", "principal": "ada"}))
    bound = _done(admin.post("role-bindings", {"principal": "ada", "role": "viewer"}))
    join = _done(admin.post("join-tokens", {"name": "old", "name_pattern": "old-*"}))
    grant = _done(admin.post("agent-config-grants", {"team": "sensors", "pattern": "sensors_*"}))
    _make_job(admin)
    session = str(_make_sessions())
    return {
        **dict.fromkeys(PROVIDERS, provider),
        **letters,
        **_make_pending(admin),
        **_make_bulk_changes(admin),
        **_make_sink(admin, receiver_url),
        "pools revoke": _make_pool(admin),
        **_make_alert(admin, receiver_url),
        **make_logins(admin, person="jane", service="flyte-eu-1"),
        "tokens revoke": token["id"],
        "sessions end": session,
        "roles revoke": bound["id"],
        "agents join-tokens revoke": join["id"],
        "agent-configs grants withdraw": grant["id"],
    }


def _make_pending(admin: Api) -> dict[str, str]:
    """A freeze for each command that wants one, and a scheduled change; their ids, by command."""
    until = {"ends_at": "2030-11-30T08:00:00Z", "reason": "Black Friday"}
    freezes = {
        f"freezes {verb}": _done(admin.post("override-freezes", {"scope": {"domain": domain}, **until}))["id"]
        for verb, domain in (("change", "staging"), ("end", "staging"))
    }
    change = {"resource_type": "cluster_resource", "attributes": {}, "at": "2030-11-29T18:00:00Z"}
    scheduled = {"changes cancel": _done(admin.post("override-changes", change))["id"]}
    return {**freezes, **scheduled, **_make_change_requests(admin)}


def _make_bulk_changes(admin: Api) -> dict[str, str]:
    """A bulk change for each command that wants one; their ids, by command."""
    ids = {}
    for verb in ("show", "agents", "cancel", "undo"):
        for name in (f"bulk-{verb}-1", f"bulk-{verb}-2"):
            agent = {"name": name, "topic_name": f"dcm.agent.{name}", "environment": f"bulk-{verb}"}
            _done(admin.post("agents", {**AGENT, **agent}))
        # The second agent waits until the command was run.
        body = {"reason": "Kernel update", "batch_size": 1, "pause_seconds": 3600}
        selector = {"environment": f"bulk-{verb}"}
        ids[f"agents bulk {verb}"] = _done(admin.post("agents:drain", {**body, "selector": selector}))["id"]
    return ids


def _make_change_requests(admin: Api) -> dict[str, str]:
    """A policy and a change request for each command that wants one; their ids, by command."""
    # Only people approve.
    Principal.objects.filter(name=_done(admin.get("me"))["name"]).update(kind=PrincipalKind.PERSON)
    scope = {"project": "billing", "domain": "staging"}
    policies = {
        f"approval-policies {verb}": {"scope": {**scope, "workflow": verb}, "approvals": 1}
        for verb in ("change", "delete")
    }
    ids = {path: _done(admin.post("approval-policies", body))["id"] for path, body in policies.items()}
    author = Api(token_for("editor"))
    for verb in ("show", "approve", "reject", "comment", "refresh", "withdraw", "publish"):
        what = {"resource_type": "execution_cluster_label", "attributes": {"value": "gpu"}}
        opened = _done(
            author.post("change-requests", {"scope": {"project": "billing", "domain": "development"}, **what})
        )
        ids[f"change-requests {verb}"] = opened["id"]
    _done(admin.post(f"change-requests/{opened['id']}:approve", {"digest": opened["digest"]}))
    return ids


def _make_pool(admin: Api) -> str:
    """A pool with a limit, and a lease, whose id is returned."""
    _done(admin.put("pools/snowflake", {"capacity": 20}))
    _done(admin.put("pools/snowflake/limits?project=flytesnacks", {"cap": 9}, If_Match="*"))
    return str(_done(admin.post("pools/snowflake/leases", {"token": "stuck"}))["id"])


def _make_sink(admin: Api, url: str) -> dict[str, str]:
    """A sink, and dead deliveries for each command that wants one; their ids, by command."""
    body = {"name": "incidents", "config": {"url": url}}
    sink = _done(admin.post("sinks", body))
    return {
        f"deliveries {verb}": str(
            Delivery.objects.create(
                sink_id=sink["id"], seq=1, event_id=uuid4(), type="agent.ready", key="agent/1", state="dead"
            ).id
        )
        for verb in ("show", "retry", "discard")
    }


def _make_alert(admin: Api, url: str) -> dict[str, str]:
    """A channel, a rule and an alert; the alert's id, by command."""
    channel = {"name": "on-call", "kind": "webhook", "config": {"url": url}}
    channel_id = _done(admin.post("notification-channels", channel))["id"]
    rule = {"name": "agents", "when": {"types": ["agent.unavailable"]}, "to": [channel_id]}
    rule_id = _done(admin.post("notification-rules", rule))["id"]
    alert = Alert.objects.create(
        rule_id=rule_id, key_hash="1", event_type="agent.unavailable", title="A silent agent", event_seq=1,
        first_at=timezone.now(), last_at=timezone.now(),
    )  # fmt: skip
    return dict.fromkeys(("notify alert", "notify acknowledge"), str(alert.id))


def _make_sessions() -> UUID:
    """A person who is logged in to the console twice; the id of one session."""
    jane = logged_in("jane", Role.VIEWER)
    Client().force_login(Principal.objects.get(name="jane"))
    assert jane.get("/api/v1/me").status_code == 200
    sessions = ConsoleSession.objects.filter(principal__name="jane")
    assert sessions.count() == 2
    return sessions.first().id


def _make_job(admin: Api) -> None:
    """A job with a secret and a run, whose plugin is released."""
    _done(admin.put("jobs/flytesnacks/shop.orders.daily", {"text": JOB}))
    _done(admin.put("job-secrets/flytesnacks/DB_PASSWORD", {"value": "s3cret"}))
    at = {"scheduled_at": "2026-11-23T02:00:00Z"}
    _done(admin.post("jobs/flytesnacks/shop.orders.daily/runs", at))
    release_plugins("bq2bq")


def _make_history(admin: Api) -> None:
    place = "project=flytesnacks&domain=development"
    for number in range(1, _TWELVE + 1):
        headers = {"If_Match": f'"v{number - 1}"'} if number > 1 else {}
        body = {"attributes": {"defaults": {"cpu": str(number)}, "limits": {"cpu": "64"}}}
        _done(admin.put(f"overrides/task_resource?{place}", body, **headers))
    body = {"attributes": {"defaults": {"cpu": "1"}}}
    _done(admin.put("overrides/task_resource?project=billing&domain=production", body))


def _make_agents(admin: Api) -> str:
    """Four agents; the first has a credential of its own, and a provider, whose id is returned."""
    invitation = _done(admin.post("join-tokens", {"name": "eu", "name_pattern": "prod-eu-1"}))["token"]
    for name in ("prod-eu-1", "prod-eu-2", "prod-eu-3", "my-agent"):
        names = {"name": name, "environment": "prod-eu-west-1", "topic_name": f"dcm.agent.{name}"}
        if name == "prod-eu-1":
            joined = _done(Api(invitation).post("agents:join", {**AGENT, **names}))
        else:
            _done(admin.post("agents", {**AGENT, **names}))
    Agent.objects.filter(name="prod-eu-2").update(state=State.REGISTERED.value)
    provider = {"name": "kubevirt", "endpoint": "http://kubevirt:8081/vms", "service_type": "vm"}
    path = f"agents/{joined['agent']['agent_id']}/providers"
    return str(_done(admin.post(path, {**provider, "schema_version": "v1alpha1"}))["id"])


def _make_resources(admin: Api) -> dict[str, str]:
    """A resource that runs, one that does not yet, one that failed; the ids of dead letters, by command."""
    agent = PlayedAgent("vm-agent")
    for name in ("my-vm", "my-new-vm", "my-failed-vm"):
        _done(admin.post(f"resources?id={name}", VM))
    agent.fetch()
    agent.answer("dcm.agent.error", resource_id="my-failed-vm", epoch=1, error="NO_QUOTA")
    running = {"id": "my-vm", "status": "RUNNING"}
    agent.answer("dcm.status.vm", **running)
    subject = f"dcm.agents.{agent.path.removeprefix('agents/')}.responses"
    return {
        f"dead-letters {verb}": _make_letter(verb, subject, running) for verb in ("get", "replay", "discard")
    }


def _make_letter(name: str, subject: str, data: dict[str, str]) -> str:
    event = {"specversion": "1.0", "id": name, "source": "vm", "type": "dcm.status.vm", "data": data}
    letter = DeadLetter.objects.create(
        stream="dcm-agent-responses",
        sequence=DeadLetter.objects.count() + 1,
        subject=subject,
        headers={"Nats-Time-Stamp": "2026-11-21T09:30:00+00:00"},
        payload=json.dumps(event).encode(),
        reason="No resource with this id.",
    )
    return str(letter.id)


def _make_configurations(admin: Api) -> None:
    _done(admin.put("data-planes/eu-1", {}))
    cluster = {"principal": "cluster-eu-prod", "namespaces": ["acme"]}
    _done(admin.put("agent-config-clusters/eu-prod", cluster))
    for team, name in (("acme", "sensors"), ("sensors", "agents")):
        document = {"text": text(team, "acme_sensor")}
        _done(admin.put(f"agent-configs/{team}/{name}", document))


def _channel(name: str, url: str) -> str:
    return yaml.safe_dump({"name": name, "kind": "webhook", "config": {"url": url}})


def _files(folder: Path, token: str, receiver_url: str) -> None:
    """The files that the examples name."""
    billing = "kind: overrides\nproject: billing\nspec: {workflowExecutionConfig: {maxParallelism: 4}}\n"
    type_, rail = request_example("resource_types_create"), request_example("guard_rails_put")
    files = {
        "billing.yaml": billing,
        "gpus.yaml": "limits:\n  gpu: '8'\n",
        "settings/billing.yaml": billing,
        "agents.yaml": text("acme", "acme_sensor"),
        "tra.yaml": "project: snacks\ndomain: development\ndefaults:\n  cpu: '1'\n",
        "workflow-priority.yaml": yaml.safe_dump(type_),
        "cpu-cap.yaml": yaml.safe_dump(rail),
        ".data/admin.token": token,
        "sink.yaml": yaml.safe_dump({"name": "incidents", "config": {"url": receiver_url}}),
        "channel.yaml": _channel("pager", receiver_url),
        "on-call.yaml": _channel("on-call", receiver_url),
        "rule.yaml": yaml.safe_dump({"name": "quiet", "when": {"types": ["agent.*"]}, "to": []}),
        "agents-rule.yaml": yaml.safe_dump({"name": "agents", "when": {"types": ["agent.*"]}, "to": []}),
        "pod-template.yaml": yaml.safe_dump(
            {
                "kind": "PodTemplate",
                "metadata": {"name": "base", "namespace": "flyte"},
                "template": {"spec": {}},
            }
        ),
        "task.yaml": "container: {image: busybox}\n",
        "pool.yaml": "capacity: 8\nunit: GPU\n",
        "report.sh": "#!/bin/sh\necho report\n",
        "job.yaml": JOB,
        "password.txt": "s3cret",
        "plugin_config.yaml": plugin_examples.CONFIG,
        "optimus-plugin-bq2bq.yaml": plugin_examples.SPEC,
        "optimus-plugin-transporter.yaml": plugin_examples.SPEC.replace("bq2bq", "transporter"),
        "vm.yaml": yaml.safe_dump(VM),
        "vms/vm.yaml": yaml.safe_dump(VM),
        **login_files(),
    }
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(content)
    public = Ed25519PrivateKey.generate().public_key()
    (folder / "public.pem").write_bytes(public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    (folder / ".data/admin.token").chmod(0o600)
    (folder / "report.sh").chmod(0o700)
