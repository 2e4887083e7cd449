"""The Helm chart without helm: its values and their schema, and what the recorded renderings hold.

`make chart` records them; the nightly lane `chart` compares them with what helm renders today.
"""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from controlplane import __version__
from controlplane.settings.environment import DECLARED
from tests.contract.test_production import COMPOSE, DOCKERFILE, READ_BY_OTHERS, instruction
from tests.support.chart import (
    CASES,
    CHART,
    IMMUTABLE,
    SECRETS,
    component_of,
    containers,
    documents,
    environment_of,
    immutable,
    kinds,
    kubernetes_validator,
    name_of,
    paths_of,
    pod_template,
    pods,
    recorded,
    secret_files,
)
from tests.support.paths import ROOT

VALUES = yaml.safe_load((CHART / "values.yaml").read_text())
SCHEMA = json.loads((CHART / "values.schema.json").read_text())
TEMPLATES = {path: path.read_text() for path in sorted((CHART / "templates").rglob("*.*"))}
TEXT = "\n".join(TEMPLATES.values())
SCHEMAS = ROOT / "tests" / "schemas"
CLOUD_NATIVE_PG = list(
    yaml.safe_load_all((ROOT / "deploy" / "kubernetes" / "cloudnative-pg.yaml").read_text())
)
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
# The watcher, the pools for Redis and the test are not in compose.
IN_COMPOSE = (
    "web", "flyte-grpc", "worker", "beat", "relay", "plugin-installer", "migrate", "database-roles",
)  # fmt: skip
# The same program, before an upgrade and after it.
MIGRATIONS = {"migrate", "migrate-contract"}
# Settings that a container has only if a value gives them.
ONLY_IF_GIVEN = {"DATABASE_REPLICA_URL"}
KNOWN = set(DECLARED)
# The oldest that Chart.yaml admits, and the newest whose schemas are installed.
KUBERNETES = ("1.31", "1.37")
PROBES = ("startupProbe", "livenessProbe", "readinessProbe")
SECRET_NAME = re.compile(
    r"PASSWORD|SECRET|TOKEN|_KEY|SEED|HEADERS|(?:DATABASE|REDIS|NATS|DIRECT|REPLICA)_URL"
)


def changed(**values: Any) -> dict[str, Any]:
    """Return the values of the small case with others at dotted paths, whose dots are written `__`."""
    result = yaml.safe_load((CHART / "ci" / "small.yaml").read_text())
    for path, value in values.items():
        *parents, last = path.split("__")
        place = result
        for name in parents:
            place = place.setdefault(name, {})
        place[last] = value
    return result


def objects_of(schema: Any) -> list[dict[str, Any]]:
    """Return every schema of an object with named properties."""
    if isinstance(schema, list):
        return [found for item in schema for found in objects_of(item)]
    if not isinstance(schema, dict):
        return []
    below = [found for item in schema.values() for found in objects_of(item)]
    return [schema, *below] if isinstance(schema.get("properties"), dict) else below


def schema_paths(schema: dict[str, Any], path: tuple[str, ...] = ()) -> set[tuple[str, ...]]:
    if "properties" not in schema:
        return {path}
    below = (schema_paths(part, (*path, name)) for name, part in schema["properties"].items())
    return set().union(*below)


def value_at(path: tuple[str, ...]) -> Any:
    place: Any = VALUES
    for name in path:
        place = place[name]
    return place


# Values and their schema


def test_the_schema_is_valid_and_strict_and_the_defaults_satisfy_it():
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    jsonschema.validate(VALUES, SCHEMA)

    open_objects = [part for part in objects_of(SCHEMA) if part.get("additionalProperties") is not False]
    assert open_objects == []


@pytest.mark.parametrize("case", CASES)
def test_the_value_files_satisfy_the_schema(case):
    jsonschema.validate(yaml.safe_load((CHART / "ci" / f"{case}.yaml").read_text()), SCHEMA)


@pytest.mark.parametrize(
    "values",
    [
        changed(databse={}),
        changed(database__urls="x"),
        changed(database__pooler="session"),
        changed(publicUrl="http://controlplane.example.com"),
        changed(publicUrl="https://user:password@controlplane.example.com"),
        changed(settings={"DATABASE_URL": "postgresql://controlplane:password@db/controlplane"}),
        changed(settings={"SECRET_KEY": "x" * 50}),
        changed(settings={"RELAY_PORT": "9000"}),
        changed(settings={"log_format": "json"}),
        changed(settings={"SESSION_HOURS": 1.5}),
        changed(podSecurityContext={"runAsNonRoot": False, "seccompProfile": {"type": "RuntimeDefault"}}),
        changed(podSecurityContext__runAsUser=0),
        changed(image__digest="latest"),
        changed(redis__url="redis://:password@valkey:6379/0"),
        changed(replicaCount__webs=3),
        changed(networkPolicy__clients=[{}]),
        changed(extraEnv=[{"name": "A", "valeu": "b"}]),
        changed(metrics__port=8080),
        changed(settings={"METRICS_PORT": 9100}),
        changed(settings={"OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20secret"}),
        changed(traces__endpoint="https://user:password@collector.example.com"),
        changed(traces__headers={"authorization": "Bearer secret"}),
        changed(traces__resourceAttributes={"team": "a,service.name=b"}),
        changed(traces__share=1.5),
    ],
)
def test_the_schema_refuses_mistakes_and_secrets(values):
    jsonschema.validate(changed(), SCHEMA)

    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(values, SCHEMA)


def test_values_and_schema_name_the_same():
    """Maps without named properties, such as annotations, have any keys."""
    in_schema = {
        path for path in schema_paths(SCHEMA) if path[0] not in ("global", "podSecurityContext", "resources")
    }
    free = {path for path in in_schema if isinstance(value_at(path), dict)}
    leaves = {path for path in paths_of(VALUES) if path[0] not in ("podSecurityContext", "resources")}

    assert len(in_schema) > 120
    assert {
        next((start for start in free if path[: len(start)] == start), path) for path in leaves
    } == in_schema


def test_each_value_that_templates_name_exists():
    used = {tuple(path.split(".")) for path in re.findall(r"(?:\$|\.)[vV]alues\.([A-Za-z.]*[A-Za-z])", TEXT)}
    assert len(used) > 60

    for path in used:
        value_at(path)


def test_each_value_is_used_by_a_template():
    words = set(re.findall(r'[."]([a-z][A-Za-z]*)', TEXT))
    # Handed over whole, as Kubernetes has them.
    whole = {"podSecurityContext", "resources", "labels", "affinity"}
    # Put together in templates: get $keys (printf "%sUrl" $role).
    made = {"webUrl", "workerUrl", "migratorUrl", "jobs"}
    leaves = [path for path in paths_of(VALUES) if not set(path) & whole]

    assert len(leaves) > 100
    assert [path for path in leaves if not set(path[-1:]) <= words | made] == []


def test_the_settings_that_the_chart_names_are_declared():
    named = set(re.findall(r"name: ([A-Z][A-Z0-9_]+),", TEXT)) | set(re.findall(r"setting: (\w+)", TEXT))
    assert len(named) > 45

    assert {name for name in named if not is_declared(name)} == set()
    refused = set(SCHEMA["properties"]["settings"]["propertyNames"]["not"]["enum"])
    assert {name for name in refused if not is_declared(name)} == set()
    # With `settings`, a name would be twice in an environment.
    assert named - refused == {"DATABASE_STATEMENT_TIMEOUT_MS", "BOOT_INIT_IMAGE"}  # These can be told.


def is_declared(name: str) -> bool:
    return name in KNOWN | READ_BY_OTHERS or name.removesuffix("_FILE") in KNOWN


def test_versions_and_linked_files_are_those_of_the_repository():
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    linked = {path.resolve() for path in (CHART / "files").iterdir()}

    assert chart["appVersion"] == __version__
    assert all(path.is_symlink() for path in (CHART / "files").iterdir())
    dashboards = set((ROOT / "deploy" / "grafana").glob("*.json"))
    assert linked == dashboards | {ROOT / "deploy" / "prometheus" / "controlplane.rules.yml"}


def test_the_guide_explains_every_group_of_values():
    guide = (ROOT / "docs" / "guides" / "kubernetes.md").read_text()

    assert [name for name in VALUES if f"`{name}" not in guide] == []
    examples = [yaml.safe_load(text) for text in re.findall(r"(?s)```yaml\n(.*?)```", guide)]
    assert len(examples) == 2
    for example in examples:
        jsonschema.validate(example, SCHEMA)


# Renderings


def test_every_value_file_is_rendered():
    assert len(CASES) >= 12
    assert sorted(path.stem for path in (ROOT / "tests/contract/chart_renderings").iterdir()) == CASES


@pytest.mark.parametrize("version", KUBERNETES)
def test_kubernetes_accepts_the_renderings(version):
    different = {json.dumps(document): document for case in CASES for document in documents(case)}
    assert len(different) > 150

    for document in different.values():
        if document["apiVersion"].startswith("monitoring.coreos.com"):
            validate_custom(document)
        else:
            validator = kubernetes_validator(document["kind"], document["apiVersion"], version)
            validator.validate(document)


def validate_custom(document: dict[str, Any]) -> None:
    """Validate a custom resource by our schema of the fields that we use."""
    complete = copy.deepcopy(document)
    if document["kind"] == "PrometheusRule":
        rules = ROOT / "deploy" / "prometheus" / "controlplane.rules.yml"
        complete["spec"] = yaml.safe_load(rules.read_text())
    schema = json.loads((SCHEMAS / f"{document['kind'].lower()}.json").read_text())
    jsonschema.validate(complete, schema)


def test_the_validator_refuses_a_misspelt_field():
    broken = copy.deepcopy(kinds("small", "Deployment")[0])
    broken["spec"]["template"]["spec"]["containers"][0]["readinessProb"] = {}

    with pytest.raises(jsonschema.ValidationError):
        kubernetes_validator("Deployment", "apps/v1", KUBERNETES[0]).validate(broken)


@pytest.mark.parametrize("case", CASES)
def test_pods_are_confined(case):
    for process, pod in pods(case).items():
        spec = pod["spec"]
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["runAsUser"] == spec["securityContext"]["runAsGroup"] == 10001
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert spec["automountServiceAccountToken"] is (process == "agent-config-watcher")
        assert not {"hostNetwork", "hostPID", "hostIPC", "initContainers"} & set(spec)
        assert not [volume for volume in spec["volumes"] if "hostPath" in volume]
        (container,) = spec["containers"]
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "runAsNonRoot": True,
            "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"},
        }
        assert container["resources"]["requests"]
        assert container["resources"]["limits"]["memory"]
        mounts = {mount["name"]: mount for mount in container["volumeMounts"]}
        assert mounts["tmp"]["mountPath"] == "/tmp"
        assert "subPath" not in str(mounts)
        assert set(mounts) <= {volume["name"] for volume in spec["volumes"]} | {"installed"}


@pytest.mark.parametrize("case", CASES)
def test_each_process_has_its_own_account_without_a_token(case):
    accounts = {document["metadata"]["name"]: document for document in kinds(case, "ServiceAccount")}
    processes = set(pods(case)) - {"migrate-contract"}
    used = [pods(case)[process]["spec"]["serviceAccountName"] for process in processes]

    assert len(used) == len(set(used))
    assert set(used) == set(accounts)
    assert all(account["automountServiceAccountToken"] is False for account in accounts.values())


@pytest.mark.parametrize("case", CASES)
def test_no_secret_is_rendered(case):
    assert kinds(case, "Secret") == []
    assert not re.search(r"://[^/\s:@\"]*:[^/\s@\"]+@", recorded(case))
    for container in containers(case).values():
        if "env" not in container:
            continue
        secret = [name for name in environment_of(container) if SECRET_NAME.search(name)]
        public = {"NATS_AGENT_URL", "FLYTE_GRPC_TLS_KEY"}
        assert [name for name in secret if not name.endswith("_FILE") and name not in public] == []


@pytest.mark.parametrize("case", CASES)
def test_each_process_gets_the_files_that_it_names_and_no_others(case):
    for process, pod in pods(case).items():
        container = pod["spec"]["containers"][0]
        values = [*environment_of(container).values()] if "env" in container else []
        named = " ".join([*values, *container["command"]])
        files = secret_files(pod)

        assert set(re.findall(rf"{SECRETS}/(\w+)", named)) == set(files)
        if process not in ("database-roles", "test"):
            assert len([name for name in files if re.fullmatch(r"database_(direct_)?url(_\w+)?", name)]) <= 2


@pytest.mark.parametrize("case", CASES)
def test_environments_name_declared_settings_once(case):
    for container in containers(case).values():
        names = [entry["name"] for entry in container.get("env", [])]

        assert len(names) == len(set(names))
        assert {name for name in names if not is_declared(name)} <= {"POD_IP"}


@pytest.mark.parametrize("process", IN_COMPOSE)
def test_the_environment_is_that_of_compose(process):
    """Of the case that has everything. Files of secrets have the same names, below another folder."""
    compose = {name: str(value) for name, value in SERVICES[process]["environment"].items()}
    # A secret, which compose passes on.
    compose["OTEL_EXPORTER_OTLP_HEADERS_FILE"] = compose.pop("OTEL_EXPORTER_OTLP_HEADERS")
    chart = environment_of(containers("large")[process])
    # Told by values; compose takes them from its own environment.
    told = {"ALLOWED_HOSTS", "PUBLIC_URL", "TRUSTED_PROXIES", "LOG_LEVEL", "NATS_AGENT_URL", "DCM_AGENTS"}
    told |= {name for name in compose if name.startswith(("OTEL_", "TRACES_"))}
    more = {
        "NATS_REPLICAS", "AGENT_CONFIGS_KUBERNETES_NAMESPACES", "PLUGIN_NODE", "PLUGIN_CONFIG_PATH",
        "PLUGIN_MIRROR", "MAX_BUNDLE_BYTES", "SCIM", "BOOT_INIT_IMAGE", "DATABASE_STATEMENT_TIMEOUT_MS",
        "PLATFORM_DEFAULTS_PATH", "BUILD_COMMIT", "LEAVE_SECONDS",
    }  # fmt: skip

    assert set(compose) <= set(chart)
    assert set(chart) - set(compose) <= more
    for name in set(compose) - told:
        assert chart[name] == compose[name].replace("/run/secrets", SECRETS), name


@pytest.mark.parametrize("case", CASES)
def test_commands_are_those_of_compose(case):
    for process, container in containers(case).items():
        if process not in IN_COMPOSE:
            continue
        words = [str(word) for word in container["command"]]
        expected = SERVICES[process].get("command") or json.loads(instruction("CMD")[-1])
        expected = [str(word).replace("/run/secrets", SECRETS) for word in expected]
        if process == "web":
            assert words[: len(expected) - 1] == expected[:-1]
            assert set(words[len(expected) :: 2]) <= {"--tls-certificate", "--tls-key"}
        elif process == "worker":
            concurrency = re.compile(r"--concurrency=\d+")
            assert concurrency.sub("", " ".join(words)) == concurrency.sub("", " ".join(expected))
        else:
            assert words == expected


def test_probes_are_those_of_compose():
    """Where compose asks by HTTP, the kubelet does too."""
    large = containers("large")
    shell = {name: SERVICES[name]["healthcheck"]["test"][1].replace("$$", "$") for name in ("worker", "beat")}

    for process, command in shell.items():
        assert large[process]["livenessProbe"]["exec"]["command"] == ["sh", "-c", command]
    installer = SERVICES["plugin-installer"]["healthcheck"]["test"][1].replace("$$", "$")
    assert large["plugin-installer"]["livenessProbe"]["exec"]["command"] == ["sh", "-c", installer]
    relay = large["relay"]["livenessProbe"]["httpGet"]["path"]
    assert f":8080{relay}" in str(SERVICES["relay"]["healthcheck"]["test"])
    (health,) = instruction("HEALTHCHECK")
    assert f":8000{large['web']['livenessProbe']['httpGet']['path']}" in health
    tls = containers("external")["flyte-grpc"]["livenessProbe"]["exec"]["command"]
    assert ["CMD", *tls] == SERVICES["flyte-grpc"]["healthcheck"]["test"]
    assert "EXPOSE 8000 8089" in DOCKERFILE


@pytest.mark.parametrize("case", CASES)
def test_what_lives_is_probed_and_ends_in_order(case):
    for document in kinds(case, "Deployment", "StatefulSet"):
        (container,) = pod_template(document)["spec"]["containers"]
        grace = pod_template(document)["spec"]["terminationGracePeriodSeconds"]

        assert "livenessProbe" in container
        # As compose's stop_grace_period, and longer than the server's own limit of 20 s.
        assert grace >= 30
        if component_of(document) in ("web", "flyte-grpc", "pools-redis"):
            assert {"startupProbe", "readinessProbe"} <= set(container)
            # Their own time to leave: a hook would need a program in the image, and end before SIGTERM.
            assert "lifecycle" not in container
            left = int(environment_of(container).get("LEAVE_SECONDS", 0))
            assert left == (0 if case == "external" else 5)
            assert grace >= left + 20
        paths = {probe: container.get(probe, {}).get("httpGet", {}).get("path") for probe in PROBES}
        assert paths["livenessProbe"] in (None, "/livez")
        assert paths["startupProbe"] in (None, "/startupz")
        assert paths["readinessProbe"] in (None, "/livez" if component_of(document) == "relay" else "/readyz")
        ports = {port["name"] for port in container.get("ports", [])}
        for probe in PROBES:
            for kind in ("httpGet", "tcpSocket"):
                assert container.get(probe, {}).get(kind, {"port": "http"})["port"] in ports | {"http"}


# Objects that name others


@pytest.mark.parametrize("case", CASES)
def test_selectors_find_pods_and_ports(case):
    templates = [pod for document in documents(case) if (pod := pod_template(document))]

    def matching(selector: dict[str, str]) -> list[dict[str, Any]]:
        return [pod for pod in templates if selector.items() <= pod["metadata"]["labels"].items()]

    services = {document["metadata"]["name"]: document for document in kinds(case, "Service")}
    for service in services.values():
        (pod,) = matching(service["spec"]["selector"])
        ports = {port["name"] for port in pod["spec"]["containers"][0].get("ports", [])}
        assert {port["targetPort"] for port in service["spec"].get("ports", [])} <= ports
    for budget in kinds(case, "PodDisruptionBudget", "Deployment", "StatefulSet"):
        assert len(matching(budget["spec"]["selector"]["matchLabels"])) == 1
    for policy in kinds(case, "NetworkPolicy"):
        assert matching(policy["spec"]["podSelector"].get("matchLabels", {}))
    for monitor in kinds(case, "PodMonitor"):
        assert matching(monitor["spec"]["selector"]["matchLabels"])
    for monitor in kinds(case, "ServiceMonitor"):
        selector = monitor["spec"]["selector"]["matchLabels"].items()
        (service,) = (one for one in services.values() if selector <= one["metadata"]["labels"].items())
        ports = {port["name"] for port in service["spec"]["ports"]}
        assert {endpoint["port"] for endpoint in monitor["spec"]["endpoints"]} <= ports
    for ingress in kinds(case, "Ingress"):
        for rule in ingress["spec"]["rules"]:
            backend = rule["http"]["paths"][0]["backend"]["service"]
            ports = {port["name"] for port in services[backend["name"]]["spec"]["ports"]}
            assert backend["port"]["name"] in ports
    scaled = {document["metadata"]["name"]: document for document in kinds(case, "Deployment")}
    for scaler in kinds(case, "HorizontalPodAutoscaler"):
        assert "replicas" not in scaled[scaler["spec"]["scaleTargetRef"]["name"]]["spec"]


@pytest.mark.parametrize("case", CASES)
def test_hooks_need_nothing_that_comes_later(case):
    def weight(document: dict[str, Any]) -> int | None:
        annotations = document["metadata"].get("annotations", {})
        is_hook = annotations.get("helm.sh/hook") == "pre-install,pre-upgrade"
        return int(annotations["helm.sh/hook-weight"]) if is_hook else None

    ours = {name_of(document): document for document in documents(case)}
    jobs = kinds(case, "Job")
    assert {component_of(job) for job in jobs} >= {"migrate"}
    for job in jobs:
        spec = job["spec"]["template"]["spec"]
        maps = [volume["configMap"]["name"] for volume in spec["volumes"] if "configMap" in volume]
        needed = [f"ServiceAccount/{spec['serviceAccountName']}", *(f"ConfigMap/{name}" for name in maps)]
        for name in needed:
            if weight(job) is not None and name in ours:
                assert weight(ours[name]) is not None
                assert weight(ours[name]) < weight(job)
    before = [job for job in jobs if component_of(job) != "migrate-contract"]
    order = [component_of(job) for job in sorted(before, key=lambda job: weight(job) or 0)]
    assert order[-1] == "migrate"


def test_what_drops_something_runs_after_the_upgrade_and_waits_less_than_its_deadline():
    (job,) = (job for job in kinds("small", "Job") if component_of(job) == "migrate-contract")
    (container,) = job["spec"]["template"]["spec"]["containers"]

    assert job["metadata"]["annotations"]["helm.sh/hook"] == "post-upgrade"
    assert container["command"][:4] == ["python", "manage.py", "migrate", "--no-input"]
    assert container["command"][4] == "--phase=contract"
    assert int(container["command"][5].removeprefix("--wait=")) < job["spec"]["activeDeadlineSeconds"]
    assert {component_of(job) for job in kinds("external", "Job")} == {"migrate"}


def test_the_watcher_may_do_what_its_manifest_says():
    manifest = ROOT / "deploy" / "kubernetes" / "agent-config-watcher.yaml"
    (role,) = (one for one in yaml.safe_load_all(manifest.read_text()) if one["kind"] == "Role")

    assert {document["metadata"]["namespace"] for document in kinds("large", "Role")} == {"acme", "beta"}
    for document in [*kinds("large", "Role"), *kinds("watch", "ClusterRole")]:
        assert document["rules"] == role["rules"]
    for document in [*kinds("large", "RoleBinding"), *kinds("watch", "ClusterRoleBinding")]:
        assert (
            document["subjects"][0]["name"]
            == pods("large")["agent-config-watcher"]["spec"]["serviceAccountName"]
        )
        assert f"{document['roleRef']['kind']}/{document['roleRef']['name']}" in {
            name_of(one) for one in (*documents("large"), *documents("watch"))
        }
    assert kinds("watch-off", "Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding") == []
    assert "AGENT_CONFIGS_KUBERNETES_NAMESPACES" in environment_of(containers("watch")["worker"])


def test_only_the_job_of_the_roles_gets_the_owners_url():
    for case in ("large", "cloudnative-pg"):
        assert [name for name, pod in pods(case).items() if "database_url" in secret_files(pod)] == [
            "database-roles"
        ]
    roles = {process: set(secret_files(pod)) for process, pod in pods("large").items()}
    expected = {
        "web": "web", "flyte-grpc": "web", "pools-redis": "web", "worker": "worker", "beat": "worker",
        "relay": "worker", "plugin-installer": "worker", "agent-config-watcher": "worker",
        "migrate": "migrator", "migrate-contract": "migrator",
    }  # fmt: skip
    for process, role in expected.items():
        assert {name for name in roles[process] if name.startswith("database_url")} == {
            f"database_url_{role}"
        }


def counting_in(case: str) -> set[str]:
    """Return the processes whose environment has a port for metrics."""
    return {
        process
        for process, container in containers(case).items()
        if "METRICS_PORT" in [entry["name"] for entry in container.get("env", [])]
    }


def ports_of(container: dict[str, Any]) -> dict[str, int]:
    return {port["name"]: port["containerPort"] for port in container.get("ports", [])}


def chosen(selector: dict[str, Any]) -> set[str]:
    (expression,) = selector["matchExpressions"]
    return set(expression["values"])


def test_each_process_that_counts_for_itself_is_scraped():
    large = containers("large")
    counting = {name for name in IN_COMPOSE if "METRICS_PORT" in SERVICES[name]["environment"]}
    counting |= {"pools-redis"}  # compose has none of these
    (monitor,) = kinds("large", "PodMonitor")
    (policy,) = (one for one in kinds("large", "NetworkPolicy") if component_of(one) == "monitoring")

    assert counting_in("large") == counting
    assert chosen(monitor["spec"]["selector"]) == chosen(policy["spec"]["podSelector"]) == counting
    assert policy["spec"]["ingress"][0]["ports"] == [{"port": 9100}]
    for process in counting:
        environment = environment_of(large[process])
        assert ports_of(large[process])["metrics"] == int(environment["METRICS_PORT"]) == 9100
        assert environment["METRICS_ADDRESS"] == "0.0.0.0"
    in_files = {"web", "worker"}
    for process in in_files:
        mounts = {mount["name"]: mount["mountPath"] for mount in large[process]["volumeMounts"]}
        assert mounts["metrics"] == environment_of(large[process])["PROMETHEUS_MULTIPROC_DIR"]
    with_folder = {name for name, pod in pods("large").items() if "/run/metrics" in str(pod)}
    assert with_folder == in_files


def test_without_a_port_for_metrics_nothing_is_open():
    assert counting_in("watch-off") == set()
    assert "metrics" not in {port for one in containers("watch-off").values() for port in ports_of(one)}
    # Another port than that of compose.
    relay = containers("service-monitor")["relay"]
    assert ports_of(relay)["metrics"] == int(environment_of(relay)["METRICS_PORT"]) == 9464


def test_traces_go_to_the_collector_with_headers_of_a_secret():
    large = containers("large")
    (policy,) = (one for one in kinds("large", "NetworkPolicy") if component_of(one) == "traces")

    for process in IN_COMPOSE:
        environment = environment_of(large[process])
        assert environment["OTEL_EXPORTER_OTLP_ENDPOINT"] == "http://collector.monitoring:4318"
        assert environment["OTEL_RESOURCE_ATTRIBUTES"] == "cloud.region=eu-west-1,k8s.cluster.name=one"
        assert environment["OTEL_TRACES_SAMPLER_ARG"] == "0.005"
        assert environment["TRACES_ENVIRONMENT"] == "staging"
        assert secret_files(pods("large")[process])["otlp_headers"] == (
            "controlplane-collector",
            "otlp_headers",
        )
    assert policy["spec"]["egress"] == [{"ports": [{"port": 4318}]}]
    assert {"web", "worker", "beat", "relay", "flyte-grpc"} == chosen(policy["spec"]["podSelector"])
    assert "OTEL_" not in recorded("small")


def test_sentinels_can_be_reached():
    (policy,) = (one for one in kinds("sentinel", "NetworkPolicy") if component_of(one) == "engines")
    redis = policy["spec"]["egress"][1]

    assert redis["ports"] == [{"port": 6379}, {"port": 26379}]
    assert secret_files(pods("sentinel")["worker"])["redis_url"] == ("valkey-sentinels", "redis_url")


def test_behind_a_pooler_only_the_migrations_connect_directly():
    pooled = {
        process: environment_of(container)
        for process, container in containers("pooler").items()
        if "env" in container
    }

    assert set(pooled) > {"web", "worker", "agent-config-watcher", "test-web-role", "test-worker-role"}
    for process in set(pooled) - MIGRATIONS:
        assert pooled[process]["DATABASE_POOLER"] == "transaction"
        assert pooled[process]["DATABASE_DIRECT_URL_FILE"] == f"{SECRETS}/database_direct_url"
    assert "DATABASE_POOLER" not in pooled["migrate"]
    assert pooled["migrate"]["DATABASE_URL_FILE"] == f"{SECRETS}/database_url_migrator"
    for role in ("web", "worker"):
        files = secret_files(pods("pooler")[f"test-{role}-role"])
        assert files[f"database_url_{role}"][1] == f"database_url_{role}"
        assert files["database_direct_url"][1] == f"database_direct_url_{role}"
    assert "test-web-role" not in pods("large")
    for case in ("small", "large"):
        assert not [name for name in ONLY_IF_GIVEN if name in recorded(case)]


def test_documents_of_overrides_are_mounted_as_a_folder_everywhere():
    for process, pod in pods("file-source").items():
        if process == "test":
            continue
        (container,) = pod["spec"]["containers"]
        assert environment_of(container)["OVERRIDES_PATH"] == "/etc/controlplane/overrides"
        mounts = [mount for mount in container["volumeMounts"] if mount["name"] == "overrides"]
        assert mounts == [{"name": "overrides", "mountPath": "/etc/controlplane/overrides", "readOnly": True}]
        assert {"name": "overrides", "configMap": {"name": "overrides"}} in pod["spec"]["volumes"]


# Upgrades


def test_an_upgrade_changes_nothing_that_is_immutable():
    """A change makes upgrades fail, or loses volumes. If it must be: say in the changelog how to upgrade."""
    recorded_fields = json.loads(IMMUTABLE.read_text())

    assert len(recorded_fields) > 100
    assert immutable() == recorded_fields, "new objects only? Then run: make chart"


def test_a_job_without_hooks_has_a_name_for_each_of_its_pods():
    (job,) = kinds("external", "Job")

    assert re.fullmatch(r"controlplane-migrate-[0-9a-f]{8}", job["metadata"]["name"])
    assert "annotations" not in job["metadata"]


# CloudNativePG


def test_the_manifest_of_cloudnative_pg_is_valid_and_agrees_with_its_value_file():
    for document in CLOUD_NATIVE_PG:
        validate_custom(document)
    cluster, backup, pooler = CLOUD_NATIVE_PG
    name = cluster["metadata"]["name"]
    values = yaml.safe_load((CHART / "ci" / "cloudnative-pg.yaml").read_text())["database"]

    assert backup["spec"]["cluster"] == pooler["spec"]["cluster"] == {"name": name}
    assert values["roles"]["existingSecret"] == f"{name}-app"
    assert values["ca"]["existingSecret"] == f"{name}-ca"
    assert values["pooler"] == pooler["spec"]["pgbouncer"]["poolMode"]
    assert cluster["spec"]["postgresql"]["synchronous"] == {
        "method": "any",
        "number": 1,
        "dataDurability": "required",
    }
    # As the installations of this repository: docker-compose.yml.
    assert "--locale-provider=builtin --builtin-locale=C.UTF-8" in str(SERVICES["postgres"]["environment"])
    initdb = cluster["spec"]["bootstrap"]["initdb"]
    assert (initdb["localeProvider"], initdb["builtinLocale"], initdb["encoding"]) == (
        "builtin",
        "C.UTF-8",
        "UTF8",
    )


@pytest.mark.parametrize("path", sorted(SCHEMAS.glob("*.json")), ids=lambda path: path.stem)
def test_our_schemas_of_custom_resources_are_strict(path: Path):
    schema = json.loads(path.read_text())

    jsonschema.Draft7Validator.check_schema(schema)
    assert [part for part in objects_of(schema) if part.get("additionalProperties") is not False] == []
