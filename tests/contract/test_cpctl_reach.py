"""cpctl reaches what the API can: every operation, or a reason why not; and asks only what is described."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, fields
from functools import cache
from io import StringIO
from pathlib import Path

import pytest
import yaml

from cpctl.main import app
from cpctl.session import SESSION, Session
from tests.support.described_server import JSON, OPERATIONS, example, request_example, serving

ID = "019a9f5e-7c00-7000-8000-000000000001"
RELEASE = 7
HERE = "-p flytesnacks -d development"
DOCUMENT = "kind: overrides\nproject: flytesnacks\nspec: {workflowExecutionConfig: {maxParallelism: 4}}\n"
LINES = f"""
get overrides {HERE} -w train --type task_resource --level workflow --as-of 3
get overrides {HERE} -o out.yaml
get overrides --manager git --changed-by ada --search gpu --sort=-changed_at
get override task_resource {HERE}
get agents --environment prod --service-type vm --state ready -l team=ml
get agent {ID}
get fleet-guards
get task-types
get agent-configs -o csv
get data-planes -o wide
get agent-config-clusters -o wide
get bundles
get parts
get claims
get conflicts
get teams -o wide
get team acme
get grants
get projects
get project flytesnacks
get domains
get domain development
get resource-types --as-of 3
get resource-type task_resource
get guard-rails --type task_resource
get guard-rail cpu-cap
get revisions
get revision 41
effective snapshot values.json --scope global --scope 'project=shop domain=dev' --valid-seconds 60
debug requests -o wide
get principals
get principal ada
get tokens
get role-bindings
get audit
pools list
pools show snowflake
pools set snowflake --capacity 20 -m Why -y
pools delete snowflake --force -y
pools usage snowflake --by project
pools limits snowflake
pools set-limit snowflake {HERE} --cap 3 --guaranteed 1 --weight 300 -y
pools remove-limit snowflake {HERE} -y
pools explain snowflake {HERE} --units 2
pools leases snowflake {HERE} --state waiting --oldest
pools acquire snowflake --token report {HERE} --wait 1 --dry-run
pools acquire snowflake --token report -- true
pools release snowflake {ID}
pools release snowflake --token report {HERE}
pools revoke snowflake {ID} -m Why -y
get pools -o wide
get pool snowflake
sinks list --state active
sinks show {ID}
sinks create incidents --url https://hooks.example.com/cp --type agent.unavailable -y
sinks set {ID} -f sink.yaml -y
sinks delete {ID} -y
sinks pause {ID} -y
sinks resume {ID} -y
sinks test {ID}
sinks replay {ID} --after 4000 --type agent.unavailable -y
sinks rotate-secret {ID} --overlap-hours 2 -y
sinks revoke-old {ID} -y
sinks preview --type agent.unavailable
notify alerts --state firing --severity critical
notify alert {ID}
notify acknowledge {ID} -y
notify channels --kind slack
notify channel {ID}
notify create-channel -f channel.yaml -y
notify set-channel {ID} -f channel.yaml -y
notify delete-channel {ID} -y
notify resume-channel {ID} -y
notify rotate-secret {ID} --overlap-hours 2 -y
notify test {ID}
notify send {ID} --subject done --text fine --severity info --key training --resolved
notify rules
notify rule {ID}
notify create-rule -f rule.yaml -y
notify set-rule {ID} -f rule.yaml -y
notify delete-rule {ID} -y
notify preview -f rule.yaml
deliveries list {ID} --state dead
deliveries show {ID}
deliveries retry {ID} -y
deliveries discard {ID} -y
explain effective {HERE} taskResources
explain --flyte
pod-preview {HERE} -f pods.yaml --propeller-namespace flyte --sources
cluster-resources {HERE} --as-of 3
helm-values -p flytesnacks -d development --chart flyte-binary --type task_log_links
diff -f document.yaml
apply -f document.yaml --manager git --prune --force --yes -m Why
apply -f document.yaml --manager git --prune -l team=ml --yes
apply -f document.yaml --replace --yes -m Why
apply -f document.yaml --override-freeze Fire --yes
edit {HERE} --yes -m Why
history
history task_resource {HERE}
history task_resource {HERE} --diff 1..2
blame task_resource {HERE}
rollback task_resource --to-version 1 {HERE} --yes
rollback --to-revision 1 {HERE} --yes
export
export --format configmap
export {HERE} -w train --manager git
import flyteadmin https://flyte.example.com --yes
import flytectl-files flytectl.yaml --kind task-resource-attribute --create-projects --yes
overrides delete task_resource {HERE} --yes -m Why
overrides undelete task_resource {HERE} --yes --ticket T-1
overrides compare --from 0 --to 41 -p flytesnacks
overrides source
overrides confirm --yes
projects list
projects list -l team=ml --search rec --sort -id
projects create ml --name ML --description Learning --label team=ml --yes
projects update ml --state archived --label team=ml --yes --dry-run
domains list
domains create staging --name Staging --yes
resource-types create -f type.yaml --yes -m Why
resource-types update workflow_priority -f type.yaml --yes
resource-types update workflow_priority -f type.yaml --dry-run --confirm 7
resource-types delete workflow_priority --yes
resource-types undelete workflow_priority --yes
changes list --state scheduled -p flytesnacks
changes schedule task_resource {HERE} -f patch.yaml --until 2026-11-27T18:00:00Z -m Training --yes
changes schedule task_resource {HERE} --delete --at 2026-11-27T18:00:00Z --yes
changes cancel {ID} -m Why --yes
get changes --state refused -o wide
get change {ID}
freezes list --state active
freezes declare -d production --until 2026-11-30T08:00:00Z --from 2026-11-28T08:00:00Z --reason Sale --yes
freezes change {ID} --until 2026-12-01T08:00:00Z --reason Longer -m Why --yes
freezes end {ID} -m Why --yes
get freezes --state upcoming -o wide
get freeze {ID}
get approval-policies -o wide
get approval-policy {ID}
approval-policies list
approval-policies create -d production --approvals 2 --reason Production --yes -m Why
approval-policies change {ID} --approvals 3 -m Why --yes
approval-policies delete {ID} -m Why --yes
get change-requests --state open -o wide
get change-request {ID}
change-requests list --state open --assigned --mine -p flytesnacks
change-requests create task_resource {HERE} -f patch.yaml --ticket ML-1 -m Training --yes
change-requests create task_resource {HERE} -f patch.yaml --replace --yes
change-requests create task_resource {HERE} --delete --yes
change-requests show {ID}
change-requests show {ID} -o yaml
change-requests approve {ID} --comment Fine --yes
change-requests reject {ID} --comment No --yes
change-requests comment {ID} --text Why
change-requests refresh {ID} -m Why --yes
change-requests withdraw {ID} -m Why --yes
change-requests publish {ID} --at 2030-11-24T02:00:00Z --override-freeze Fire -m Why --yes
apply -f document.yaml --approval-override Fire --yes
guard-rails set cpu-cap -f rail.yaml --accept-existing --yes -m Why
guard-rails set cpu-cap -f rail.yaml --dry-run
guard-rails delete cpu-cap --yes
guard-rails undelete cpu-cap --accept-existing --yes
guard-rails delete cpu-cap --dry-run
agents list --sort name --search a
agents summary
agents versions --environment prod
agents drain {ID} --reason Kernel --until 2026-11-22T09:30:00Z --yes
agents drain -l team=ml --environment prod --reason Kernel --confirm 240 --batch-size 5 --pause 1 --yes
agents resume --team ml --allow-last-agents --yes
agents retire --task-type spark --search a -m Why --yes
agents approve --state registered --yes
agents list --task-type spark
get operations --state running -o wide
operations list --kind resource
operations show resource.my-vm
operations wait resource.my-vm --timeout 5
operations cancel resource.my-vm -m Why --yes
agents bulk list --state running --action drain
agents bulk show {ID}
agents bulk agents {ID} --state failed
agents bulk cancel {ID} -m Why --yes
agents bulk undo {ID} --yes
agents resume {ID} --yes
agents transfer {ID} ml --yes
agents set-lease {ID} 1800 --yes
agents set-environment-lease edge 1800 --yes
agents approve {ID} --yes
agents deregister {ID} --yes
agents retire {ID} --yes
agents rotate {ID} --yes
agents revoke-tokens {ID} --yes
agents remove {ID} --force --yes
agents guards list --engaged
agents guards overrule lift prod --yes
agents join-tokens list
agents join-tokens create eu --name-pattern "a*" --service-type vm --yes
agents join-tokens revoke {ID} --yes
agents providers list {ID}
agents providers show {ID} kubevirt
agents providers history {ID} kubevirt
agents providers remove {ID} kubevirt --yes
agents test {ID} --timeout 0
agents nats-login issue {ID} --yes
agents nats-login revoke {ID} --yes
get resources --state running --service-type vm -l tier=dev -o wide
get resource web-1
resources list --state failed --state deletion_failed --agent a1 --team ml --show-deleted
resources get web-1 -o yaml
resources apply -f request.yaml --yes
resources wait web-1 --for=state=pending --timeout 5
resources delete web-1 --force --reason Gone --yes
resources cancel web-1 --yes
resources retry web-1 --dry-run
resources assignments web-1
resources explain web-1
resources explain -f request.yaml -o yaml
get dead-letters -o wide
dead-letters list --state discarded
dead-letters get {ID}
dead-letters replay {ID} --yes
dead-letters discard {ID} -m Old --yes
agent-configs list --team acme --source api --invalid
agent-configs get acme/sensors
agent-configs validate acme/sensors -f config.yaml
jobs validate job.yaml
jobs preview job.yaml --scheduled-at 2026-11-23T02:00:00Z --set DATASET=warehouse --secret DB_PASSWORD
jobs list -p flytesnacks --plugin bq2bq
jobs show orders.daily -p flytesnacks
jobs apply job.yaml --name a -p flytesnacks --namespace eu --team ml -m Why --yes
jobs delete orders.daily -p flytesnacks --yes
jobs variables -p flytesnacks --namespace eu --set A=b --unset B --yes
jobs secrets list -p flytesnacks
jobs secrets set warehouse -p flytesnacks --namespace eu -f password.txt --yes
jobs secrets delete warehouse -p flytesnacks --yes
jobs render orders.daily -p flytesnacks --kind pod --shape wrapper --profile rfc
jobs runs list orders.daily -p flytesnacks
jobs runs create orders.daily -p flytesnacks --scheduled-at 2026-11-23T02:00:00Z --external-id r1 --set A=b
jobs run-input orders.daily -p flytesnacks --scheduled-at 2026-11-23T02:00:00Z --hook mail
jobs run-input orders.daily -p flytesnacks --scheduled-at 2026-11-23T02:00:00Z --reveal
plugins validate plugin_config.yaml
plugins validate optimus-plugin-bq2bq.yaml
plugins install -c plugin_config.yaml --mode server --min-active 2 --timeout 1 -m Why --yes
plugins list --mode server -o wide
plugins show bq2bq
plugins show bq2bq 1.4.0
plugins nodes -o wide
plugins lock
plugins config show
plugins config history -o wide
plugins config source
plugins secrets list
plugins secrets set artifacts-token -f workload.token --yes
plugins secrets delete artifacts-token --yes
plugins releases list -o wide
plugins releases show {RELEASE}
plugins releases activate {RELEASE} --timeout 1 --yes
plugins releases cancel {RELEASE} --yes
plugins rollback --mode server --to {RELEASE} --timeout 1 --yes
agent-configs preview acme/sensors -f config.yaml
agent-configs publish acme/sensors -f config.yaml --yes
agent-configs delete acme/sensors --yes
agent-configs quarantine acme/sensors --source folder -m "Wrong" --yes
agent-configs readmit acme/sensors --yes
agent-configs status acme/sensors
agent-configs conflicts --data-plane eu-1
agent-configs claims --team acme
agent-configs hand-over task_type acme_sensor --from acme --to other --yes
agent-configs release task_type acme_sensor --team acme --yes
agent-configs pins
agent-configs pin task_type acme_sensor --team acme --until 2030-01-31T00:00:00Z --yes
agent-configs unpin task_type acme_sensor --yes
agent-configs bundle list
agent-configs bundle get eu-1
agent-configs bundle diff eu-1 1 2
agent-configs planes list
agent-configs planes set eu-1 -f plane.yaml --release 1.16.0 --dialect connector --principal flyte --yes
agent-configs planes approve eu-1 --yes
agent-configs planes remove eu-1 --yes
agent-configs clusters list
agent-configs clusters show eu
agent-configs clusters set eu --principal cluster-eu --namespace acme --namespace beta -m Why --yes
agent-configs clusters remove eu --confirm 5891b5 -m Why --yes
agent-configs teams list
agent-configs teams set acme --publisher acme-ci --organisation acme --yes
agent-configs grants list
agent-configs grants give acme "acme_*" --kind agent --yes
agent-configs grants withdraw {ID} --yes
agent-configs sources list
agent-configs sources confirm kubernetes --yes
task-types list
task-types show spark --version v1
events
events types
audit --actor ada --object-type override --object-id x --request y
principals list
principals create ci --kind service --yes
principals disable ci --yes
principals enable ci --yes
tokens list --principal ci
tokens create CI --principal ci --expires-at 2027-11-21T09:30:00Z --yes
tokens revoke {ID} --yes
sessions list --principal ada
sessions end {ID} --yes
sessions end-all --principal ada --yes
roles list --principal ci
roles grant ci editor {HERE} --yes
roles revoke {ID} --yes
roles grant team:ml operator --owned-by ml --expires-at 2027-11-21T09:30:00Z --yes
roles create janitor --action agent.read --action agent.write --yes
roles update janitor --action agent.read --yes
roles delete janitor --yes
get roles -o wide
get role viewer
get organisations
get organisation default
teams list --member ada
teams show ml
teams create ml --title ML --group cp-ml --organisation default --yes
teams update ml --title ML --yes
teams delete ml --yes
teams members ml -o wide
teams add ml ada --yes
teams remove ml ada --yes
get clients -o wide
clients list
clients show flytepropeller
clients create ci --principal ci --scope read --default-scope read --audience https://a.example -m Why --yes
clients create web --type public --redirect-uri https://a.example/callback --grant authorization_code --yes
clients update ci --no-active --no-may-introspect --team "" -m Why --yes
clients delete ci -m Why --yes
clients secrets list ci
clients secrets create ci --expires-at 2027-11-21T09:30:00Z --yes
clients secrets revoke ci {ID} --yes
get signing-keys -o wide
signing-keys list
signing-keys rotate -m Why --yes
get issuers -o wide
issuers list
issuers show https://oidc.eks.eu-west-1.amazonaws.com/id/EXAMPLE
issuers set -f new-issuer.yaml -m Why --yes
issuers set -f issuer.yaml -m Why --yes
issuers delete {ID} -m Why --yes
issuers test workload.token
get identity-providers -o wide
identity-providers list
identity-providers show work
identity-providers set work -f provider.yaml --secret-file workload.token --yes
identity-providers delete work --yes
identity-providers test work --claims claims.yaml
identity-providers test work --token-file workload.token
get identities -o wide
identities list --principal ada
identities link ada --issuer https://login.example.com --subject 1 --yes
identities unlink {ID} --yes
access can-i agent.write --team ml
access who-can override.write {HERE}
access matrix agent.write --team ml -o wide
whoami
can-i override.write {HERE}
""".strip().splitlines()
NOT_REACHED = {
    "plugins_artifact": "`plugins install --mode client` and `plugins mirror` fetch it as a file",
    "meta_get": "`doctor` shows its checks, and asks for Flyte's version too, which is not described",
    "meta_support": "`doctor --bundle` stores it",
    "event_types_schema": "`dataschema` of events names it; consumers fetch it",
    "agents_register": "agents do it",
    "agents_join": "agents do it",
    "agents_heartbeat": "agents do it",
    "agents_heartbeat_many": "agents do it",
    "providers_register": "agents do it",
    "agents_requests": "agents fetch them; `resources assignments` shows what was sent",
    "agents_answer": "agents do it",
    "alertmanager_report": "Alertmanager does it",
    "backups_report": "jobs that make backups do it",
    "data_planes_config": "data planes ask it; `agent-configs bundle get` shows the same",
    "data_planes_acknowledge": "data planes say it",
    "agent_configs_admit": "Kubernetes asks it",
    "agent_config_clusters_admit": "Kubernetes asks it",
    "agent_config_clusters_report": "collectors do it",
    "pools_lease": "`pools leases` lists them; `pools acquire` waits for one",
    "pools_renew": "`pools acquire -- COMMAND` renews while the command runs",
    "pools_lease_batch": "for programs with many leases",
    "organisations_create": "rare, and only for the operator of the installation",
    "overrides_put": "`apply` and `edit` set what documents say",
    "overrides_patch": "`apply` and `edit` set what documents say",
    "overrides_preview": "`diff` and `apply --dry-run` show the same",
    "overrides_effective_stream": "for programs; `events` follows changes for people",
    "overrides_effective_batch": "for programs; `explain` asks about one scope",
    "me_change_password": "for people with a browser; cpctl has a token",
    "override_versions_get": "`history -o yaml` shows all of them whole",
}


@dataclass(frozen=True)
class Ran:
    output: str
    operations: frozenset[str]
    wrong: list[str]


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Iterator[Callable[[str], Ran]]:
    """Runs a line, here and not as a process of its own, once however often it is asked for."""
    folder = tmp_path_factory.mktemp("cpctl")
    write_files(folder)
    with serving() as server, pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("CPCTL_CONFIG", str(folder / "none.json"))
        patch.setenv("CPCTL_TOKEN", "secret")
        patch.setenv("EDITOR", "sed -i 1s/^/#/")
        patch.delenv("VISUAL", raising=False)

        @cache
        def once(line: str) -> Ran:
            server.operations.clear()
            server.wrong.clear()
            string_io = StringIO()
            with redirect_stdout(string_io), redirect_stderr(string_io):
                app(["--server", server.url, *shlex.split(line)], prog_name="cpctl", standalone_mode=False)
            return Ran(string_io.getvalue(), frozenset(server.operations), list(server.wrong))

        yield once
    for field in fields(Session):
        setattr(SESSION, field.name, field.default)


def write_files(folder: Path) -> None:
    """What the lines name."""
    sink = {"name": "incidents", "config": {"url": "https://hooks.example.com/cp"}}
    (folder / "sink.yaml").write_text(yaml.safe_dump(sink))
    (folder / "channel.yaml").write_text(yaml.safe_dump({"name": "on call", "kind": "slack"}))
    (folder / "rule.yaml").write_text(yaml.safe_dump({"name": "agents", "when": {}, "to": []}))
    (folder / "document.yaml").write_text(DOCUMENT)
    (folder / "patch.yaml").write_text("limits: {gpu: '8'}\n")
    (folder / "flytectl.yaml").write_text("project: shop\ndomain: production\n")
    (folder / "pods.yaml").write_text("container: {image: example/task}\n")
    (folder / "config.yaml").write_text("plugins: {}\n")
    (folder / "plugin_config.yaml").write_text("plugins: {}\n")
    (folder / "job.yaml").write_text("name: a\n")
    (folder / "password.txt").write_text("s3cret\n")
    (folder / "optimus-plugin-bq2bq.yaml").write_text("name: bq2bq\n")
    (folder / "workload.token").write_text("secret\n")
    (folder / "claims.yaml").write_text("sub: '1'\n")
    issuer = example(OPERATIONS["trusted_issuers_get"][2]["responses"]["200"], JSON)
    (folder / "issuer.yaml").write_text(yaml.safe_dump(issuer))
    for file, operation in (
        ("type.yaml", "resource_types_create"),
        ("request.yaml", "resources_create"),
        ("rail.yaml", "guard_rails_put"),
        ("plane.yaml", "data_planes_put"),
        ("new-issuer.yaml", "trusted_issuers_create"),
        ("provider.yaml", "identity_providers_put"),
    ):
        (folder / file).write_text(yaml.safe_dump(request_example(operation)))


@pytest.mark.parametrize("line", LINES)
def test_a_command_asks_what_is_described_and_shows_what_is_answered(run, line):
    ran = run(line)

    assert ran.wrong == []
    assert ran.output


def test_every_operation_is_reached_or_there_is_a_reason(run):
    reached = frozenset[str]().union(*(run(line).operations for line in LINES))

    assert set(OPERATIONS) - reached == set(NOT_REACHED)


def test_what_is_picked_out_of_an_answer(run):
    picked = run("get agents --jq '.items[0] | {name, state: .health_status}'").output
    state = run(f"get agent {ID} --jq .health_status").output

    assert json.loads(picked)["state"] == state.strip() == "ready"
