"""Sources of agent configurations: a folder, and a Kubernetes cluster with its admission webhook."""

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
    meaning="Folder of documents to publish, as `<team>/<file>.yaml`. Empty: none.",
)
AGENT_CONFIGS_ADMISSION = env.parsed(
    "AGENT_CONFIGS_ADMISSION",
    one_of("deny", "warn"),
    default="deny",
    meaning="How the Kubernetes admission webhook treats claims that belong to another team: `deny`"
    " rejects new ones, `warn` only warns.",
)
AGENT_CONFIGS_KUBERNETES_NAMESPACES = env.names(
    "AGENT_CONFIGS_KUBERNETES_NAMESPACES",
    default="",
    meaning="Namespaces whose ConfigMaps `manage.py watch_agent_configs` watches, comma-separated; each"
    " namespace is a team. `*`: all namespaces. Empty: none.",
)
AGENT_CONFIGS_KUBERNETES_SELECTOR = env.text(
    "AGENT_CONFIGS_KUBERNETES_SELECTOR",
    default="",
    meaning="Label selector that ConfigMaps must match in addition to their name, such as"
    " `flyte.org/agent-config=true`.",
)
AGENT_CONFIGS_KUBERNETES_KUBECONFIG = env.text(
    "AGENT_CONFIGS_KUBERNETES_KUBECONFIG",
    default="",
    meaning="Path of the kubeconfig file for the watched cluster. Empty: the cluster in which the process"
    " runs.",
)
AGENT_CONFIGS_KUBERNETES_RELIST_SECONDS = env.integer(
    "AGENT_CONFIGS_KUBERNETES_RELIST_SECONDS",
    default=300,
    minimum=10,
    meaning="Seconds between full lists of all ConfigMaps, in addition to the watch.",
)
AGENT_CONFIGS_KUBERNETES_SETTLE_SECONDS = env.integer(
    "AGENT_CONFIGS_KUBERNETES_SETTLE_SECONDS",
    default=5,
    meaning="Seconds without another deletion before deleted ConfigMaps are processed, so that a mass"
    " deletion is handled as one change.",
)
AGENT_CONFIGS_KUBERNETES_EVENTS = env.boolean(
    "AGENT_CONFIGS_KUBERNETES_EVENTS",
    default=True,
    meaning="Report the outcome of each ConfigMap to its authors as Kubernetes Events.",
)
AGENT_CONFIGS_KUBERNETES_PROBE_PORT = env.integer(
    "AGENT_CONFIGS_KUBERNETES_PROBE_PORT",
    default=8090,
    meaning="Port on which the watcher answers the kubelet's probes. 0: none.",
)
