"""Where agent configurations come from: a folder, and a Kubernetes cluster with its webhook."""

from controlplane.settings import environment as env
from controlplane.settings.agent_configs import one_of

__all__ = [
    "AGENT_CONFIGS_ADMISSION",
    "AGENT_CONFIGS_KUBERNETES_EVENTS",
    "AGENT_CONFIGS_KUBERNETES_KUBECONFIG",
    "AGENT_CONFIGS_KUBERNETES_NAMESPACES",
    "AGENT_CONFIGS_KUBERNETES_PROBE_PORT",
    "AGENT_CONFIGS_KUBERNETES_RELIST_SECONDS",
    "AGENT_CONFIGS_KUBERNETES_SELECTOR",
    "AGENT_CONFIGS_KUBERNETES_SETTLE_SECONDS",
    "AGENT_CONFIGS_PATH",
]

AGENT_CONFIGS_PATH = env.text(
    "AGENT_CONFIGS_PATH",
    default="",
    meaning="A folder of documents to publish: `<team>/<file>.yaml`. Empty: none.",
)
AGENT_CONFIGS_ADMISSION = env.parsed(
    "AGENT_CONFIGS_ADMISSION",
    one_of("deny", "warn"),
    default="deny",
    meaning="What Kubernetes' webhook says of claims that another team has: `deny` new ones, or `warn`.",
)
AGENT_CONFIGS_KUBERNETES_NAMESPACES = env.names(
    "AGENT_CONFIGS_KUBERNETES_NAMESPACES",
    default="",
    meaning="Namespaces whose ConfigMaps `manage.py watch_agent_configs` follows; each is a team. `*`: all of"
    " them. Empty: none.",
)
AGENT_CONFIGS_KUBERNETES_SELECTOR = env.text(
    "AGENT_CONFIGS_KUBERNETES_SELECTOR",
    default="",
    meaning="A label selector that ConfigMaps must fit besides their name, such as"
    " `flyte.org/agent-config=true`.",
)
AGENT_CONFIGS_KUBERNETES_KUBECONFIG = env.text(
    "AGENT_CONFIGS_KUBERNETES_KUBECONFIG",
    default="",
    meaning="A kubeconfig file that says where the cluster is. Empty: the one in which the process runs.",
)
AGENT_CONFIGS_KUBERNETES_RELIST_SECONDS = env.integer(
    "AGENT_CONFIGS_KUBERNETES_RELIST_SECONDS",
    default=300,
    minimum=10,
    meaning="All ConfigMaps are listed again so often, whatever the watch says.",
)
AGENT_CONFIGS_KUBERNETES_SETTLE_SECONDS = env.integer(
    "AGENT_CONFIGS_KUBERNETES_SETTLE_SECONDS",
    default=5,
    meaning="ConfigMaps that go are taken away once no other went for so long, so that many are noticed.",
)
AGENT_CONFIGS_KUBERNETES_EVENTS = env.boolean(
    "AGENT_CONFIGS_KUBERNETES_EVENTS",
    default=True,
    meaning="Tell authors by Kubernetes Events on their ConfigMaps what became of them.",
)
AGENT_CONFIGS_KUBERNETES_PROBE_PORT = env.integer(
    "AGENT_CONFIGS_KUBERNETES_PROBE_PORT",
    default=8090,
    meaning="Port at which the watcher answers the kubelet's probes. 0: none.",
)
