"""Plugins: where their archives are stored and installed, and what an archive may use."""

import os
from pathlib import Path

from controlplane import __version__
from controlplane.settings import environment as env

__all__ = [
    "BOOT_INIT_IMAGE",
    "OPTIMUS_COMPAT",
    "PLUGIN_CONFIG_PATH",
    "PLUGIN_FETCH_GRACE_SECONDS",
    "PLUGIN_MAX_BYTES",
    "PLUGIN_MAX_ENTRIES",
    "PLUGIN_MIRROR",
    "PLUGIN_NODE",
    "PLUGIN_ROOT",
    "PLUGIN_STORE",
]

_DATA = os.environ.get("DATA_DIR", ".data")
# Of a machine, so no default on the page of settings.
PLUGIN_STORE = env.text(
    "PLUGIN_STORE",
    default="",
    meaning="Where archives of plugins are stored: a folder that all servers and installers share, or a URL"
    " of fsspec, such as s3://bucket/plugins. The default is plugins/store in DATA_DIR.",
) or str(Path(_DATA, "plugins", "store"))
PLUGIN_MIRROR = env.text(
    "PLUGIN_MIRROR",
    default="",
    meaning="Where archives are looked for before their providers: a folder, an https:// address, or a URL of"
    " fsspec. It has the layout of PLUGIN_STORE, sha256/<first two characters>/<digest>. Every team gets from"
    " it what it knows the checksum of.",
)
PLUGIN_ROOT = env.text(
    "PLUGIN_ROOT",
    default="",
    meaning="Folder in which `manage.py plugin_installer` installs plugins on its own node. The default is"
    " plugins/installed in DATA_DIR.",
) or str(Path(_DATA, "plugins", "installed"))
PLUGIN_NODE = env.text(
    "PLUGIN_NODE", default="", meaning="Name of this node for its installer. The default is the host name."
)
PLUGIN_CONFIG_PATH = env.text(
    "PLUGIN_CONFIG_PATH",
    default="",
    meaning="File with the platform's plugin configuration, or a folder with `platform.yaml` and"
    " `teams/<team>.yaml`, such as a mounted ConfigMap. It is read again without a restart, and the API then"
    " refuses writes.",
)
PLUGIN_FETCH_GRACE_SECONDS = env.integer(
    "PLUGIN_FETCH_GRACE_SECONDS",
    default=5,
    minimum=1,
    maximum=600,
    meaning="How long a release waits for slow providers after the last archive arrived. Plugins that are"
    " late keep their previous version, and follow later.",
)
PLUGIN_MAX_ENTRIES = env.integer(
    "PLUGIN_MAX_ENTRIES", default=5_000, minimum=1, maximum=1_000_000, meaning="Most files in an archive."
)
PLUGIN_MAX_BYTES = env.integer(
    "PLUGIN_MAX_BYTES",
    default=1 << 30,
    minimum=1024,
    maximum=1 << 40,
    meaning="Most bytes of an archive, and of its files together.",
)
BOOT_INIT_IMAGE = env.text(
    "BOOT_INIT_IMAGE",
    default=f"controlplane:{__version__}",
    meaning="Image of init containers whose plugin names none. It has /opt/entrypoint_init_container.sh, as"
    " the server's own image does.",
)
OPTIMUS_COMPAT = env.boolean(
    "OPTIMUS_COMPAT",
    default=False,
    meaning="Answer unchanged clients of Optimus too: GET /plugins, which stays a page for browsers,"
    " and POST /api/v1beta1/project/{project}/job/{job}/run_input. Both need a token.",
)
