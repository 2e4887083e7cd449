"""`cpctl plugins` in client mode, against a server that serves locks and archives as the API does."""

from __future__ import annotations

import json
import random
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from cpctl.exits import Exit
from plugin_store.generations import active_folders, load_manifest
from tests.support.cpctl_in_process import CpctlInProcess
from tests.support.plugin_server import (
    TOKEN,
    Instead,
    Packed,
    PluginServer,
    Slow,
    Truncated,
    lock_of,
    packed,
    running_plugin_server,
    serving_folder,
)
from tests.support.properties import NIGHTLY
from tests.support.waiting import until

INSTALL = ("plugins", "install", "--mode", "client", "--root", "plugins")


@pytest.fixture
def server() -> Iterator[PluginServer]:
    with running_plugin_server() as server:
        yield server


@pytest.fixture
def cpctl(server: PluginServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[CpctlInProcess]:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with CpctlInProcess(tmp_path / "here", server.url, TOKEN) as cpctl:
        yield cpctl


@pytest.fixture
def pack(tmp_path: Path):
    return lambda name, version, padding=0: packed(name, version, tmp_path / "packed", padding=padding)


@pytest.fixture
def root(cpctl: CpctlInProcess) -> Path:
    return cpctl.folder / "plugins"


def versions(root: Path) -> dict[str, str]:
    """What a reader finds."""
    return {
        name: (folder / "plugin.yaml").read_text().split()[-1]
        for name, folder in active_folders(root).items()
    }


def publish(server: PluginServer, pack, version: str, **more: str) -> list[Packed]:
    plugins = [pack("bq2bq", version), pack("transporter", version)]
    server.publish(*plugins, **more)
    return plugins


def test_it_installs_the_lock_and_a_second_run_downloads_nothing(server, cpctl, pack, root):
    publish(server, pack, "1.0")

    first = cpctl(*INSTALL)
    second = cpctl(*INSTALL)

    assert (first.code, second.code) == (Exit.OK, Exit.OK), first.err
    assert versions(root) == {"bq2bq": "1.0", "transporter": "1.0"}
    assert first.lines[:2] == ["+ bq2bq", "+ transporter"]
    assert "up to date" in second.out
    assert len(server.artifacts()) == 2
    assert "If-None-Match" in server.requests[-1].headers
    assert list((root / ".cpctl" / "downloads").iterdir()) == []


def test_only_what_is_new_is_fetched_and_what_the_server_dropped_is_removed(server, cpctl, pack, root):
    old = publish(server, pack, "1.0")
    cpctl(*INSTALL)
    server.publish(old[0], pack("loader", "3.0"))
    server.requests.clear()

    ran = cpctl(*INSTALL, "-o", "json")

    finished = json.loads(ran.out.splitlines()[-1])
    assert (finished["installed"], finished["removed"], finished["unchanged"]) == (
        ["loader"],
        ["transporter"],
        ["bq2bq"],
    )
    assert [one.path for one in server.artifacts()] == ["/api/v1/plugins/loader/artifact"]
    assert versions(root) == {"bq2bq": "1.0", "loader": "3.0"}


def test_a_damaged_plugin_is_repaired_although_the_lock_is_the_same(server, cpctl, pack, root):
    publish(server, pack, "1.0")
    cpctl(*INSTALL)
    (active_folders(root)["bq2bq"] / "plugin.yaml").write_text("edited")
    found = cpctl("plugins", "verify", "--root", "plugins")

    assert cpctl(*INSTALL).code == Exit.OK
    assert (found.code, found.lines) == (1, ["bq2bq: its files have changed since they were installed"])
    assert versions(root) == {"bq2bq": "1.0", "transporter": "1.0"}
    assert cpctl("plugins", "verify", "--root", "plugins").code == Exit.OK


def test_a_broken_download_is_continued(server, cpctl, pack, root):
    plugin = pack("loader", "1.0", 200_000)
    server.publish(plugin)
    server.fault = Truncated(after=150_000)

    assert cpctl(*INSTALL).code == Exit.OK

    assert server.artifacts()[1].headers["Range"].startswith("bytes=1")
    assert server.artifacts()[1].headers["If-Range"] == f'"{plugin.locked.sha256}"'
    assert server.sent < plugin.locked.size + 66_000


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        (Instead(200, b"<html>Log in</html>", {"Content-Type": "text/html"}), "web page"),
        (Instead(404, b"<html>Not Found</html>", {"Content-Type": "text/html"}), "answered with 404"),
        (Instead(200, b"short"), "has 5 bytes"),
    ],
)
def test_what_is_not_the_archive_never_becomes_one(server, cpctl, pack, root, fault, text):
    old = publish(server, pack, "1.0")
    cpctl(*INSTALL)
    server.publish(old[0], pack("transporter", "2.0"))
    server.fault = fault

    ran = cpctl(*INSTALL)

    assert ran.code == Exit.DIFFERS
    assert text in ran.err
    assert versions(root) == {"bq2bq": "1.0", "transporter": "1.0"}
    assert load_manifest(root).active == 1


@pytest.mark.parametrize("best_effort", [False, True])
def test_a_tampered_archive(server, cpctl, pack, root, best_effort):
    publish(server, pack, "1.0")
    cpctl(*INSTALL)
    new = publish(server, pack, "2.0")
    server.archives[new[1].locked.sha256] = bytes(reversed(new[1].content))

    ran = cpctl(*INSTALL, *(["--best-effort"] if best_effort else []))

    assert ran.code == Exit.DIFFERS
    assert "not the expected one" in ran.err
    assert versions(root) == {"bq2bq": "2.0" if best_effort else "1.0", "transporter": "1.0"}


def test_a_server_that_recovers_is_asked_again(server, cpctl, pack, root):
    publish(server, pack, "1.0")
    answers = [503, 502, 200]

    def fault(handler, content):
        status = answers.pop(0) if answers else 200
        if status != 200:
            handler.send(status, b"", {"Retry-After": "0"})
        return status != 200

    server.fault = fault

    assert cpctl(*INSTALL).code == Exit.OK
    assert len(server.artifacts()) == 4


def test_the_token_goes_to_its_server_only(server, cpctl, pack, root):
    plugins = publish(server, pack, "1.0")
    with running_plugin_server() as other:
        other.publish(*plugins)
        server.fault = lambda handler, content: _redirect(handler, f"{other.url}{handler.path}")

        ran = cpctl(*INSTALL)

        # It refuses requests without a token, which shows that it got none.
        assert ran.code == Exit.DIFFERS
        assert "Authentication required" in ran.err
        assert all("Authorization" not in one.headers for one in other.requests)
        assert other.requests


def _redirect(handler, url: str) -> bool:
    handler.send(302, b"", {"Location": url})
    return True


def test_no_token_is_in_any_output(server, cpctl, pack, root):
    publish(server, pack, "1.0")

    ran = cpctl("--debug", *INSTALL)
    shown = [cpctl("plugins", "list", "--mode", "client", "--root", "plugins", "-o", "wide")]
    server.fault = Instead(401, b"{}")
    publish(server, pack, "2.0")
    shown.append(cpctl("--debug", *INSTALL))

    files = "".join(path.read_text() for path in root.rglob("*.json"))
    assert TOKEN not in ran.out + ran.err + files + "".join(one.out + one.err for one in shown)


def test_a_killed_installation_leaves_the_old_set_and_the_next_run_continues(server, cpctl, pack, root):
    publish(server, pack, "1.0")
    assert cpctl(*INSTALL).code == Exit.OK
    large = pack("transporter", "2.0", 400_000)
    server.publish(pack("bq2bq", "2.0"), large)
    slow = Slow()
    server.fault = lambda handler, content: len(content) > 100_000 and slow(handler, content)
    process = cpctl.start(*INSTALL)
    part = root / ".cpctl" / "downloads" / f"{large.locked.sha256}.part"
    until(lambda: part.exists() and part.stat().st_size > 0)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=20)
    slow.released.set()
    server.requests.clear()
    assert part.exists()

    assert versions(root) == {"bq2bq": "1.0", "transporter": "1.0"}
    assert cpctl(*INSTALL).code == Exit.OK

    assert versions(root) == {"bq2bq": "2.0", "transporter": "2.0"}
    (continued,) = [one for one in server.artifacts() if "transporter" in one.path]
    assert int(continued.headers["Range"].removeprefix("bytes=")[:-1]) > 0


def test_a_kill_at_any_time_leaves_the_old_set_or_the_new_one(server, cpctl, pack, root):
    began = time.monotonic()
    sets = [publish(server, pack, version) for version in ("1.0", "2.0")]
    assert cpctl.process(*INSTALL).code == Exit.OK
    duration = time.monotonic() - began
    for number in range(100 if NIGHTLY else 6):
        server.publish(*sets[number % 2])
        process = cpctl.start(*INSTALL, "--best-effort")
        time.sleep(duration * random.uniform(0.5, 1.0))
        process.kill()
        process.communicate(timeout=20)

        assert set(versions(root).values()) in ({"1.0"}, {"2.0"})

    assert cpctl(*INSTALL).code == Exit.OK
    assert cpctl("plugins", "clean", "--root", "plugins", "--yes").code == Exit.OK
    assert cpctl("plugins", "verify", "--root", "plugins").code == Exit.OK


def test_two_at_once_on_one_folder(server, cpctl, pack, root):
    server.publish(pack("bq2bq", "1.0"), pack("transporter", "1.0", 200_000))
    processes = [cpctl.start(*INSTALL) for _ in range(2)]
    outputs = [process.communicate(timeout=60) for process in processes]

    assert [process.returncode for process in processes] == [0, 0], outputs
    assert versions(root) == {"bq2bq": "1.0", "transporter": "1.0"}
    assert len(server.artifacts()) == 2
    assert load_manifest(root).active == 1


def test_a_mirror_works_without_the_server(server, cpctl, pack, root):
    plugins = publish(server, pack, "1.0")
    made = cpctl("plugins", "mirror", "mirror")
    again = cpctl("plugins", "mirror", "mirror")
    server.requests.clear()

    offline = cpctl(*INSTALL, "--mirror", "mirror")

    assert (made.code, offline.code) == (Exit.OK, Exit.OK), offline.err
    assert "0 archives" in again.out
    assert versions(root) == {"bq2bq": "1.0", "transporter": "1.0"}
    assert server.requests == []
    sha256 = plugins[0].locked.sha256
    assert (cpctl.folder / "mirror" / "sha256" / sha256[:2] / sha256).read_bytes() == plugins[0].content
    assert (cpctl.folder / "mirror" / "plugins.lock.json").read_bytes() == lock_of(plugins)


def test_a_tampered_mirror_is_refused_and_repaired(server, cpctl, pack, root):
    plugins = publish(server, pack, "1.0")
    cpctl("plugins", "mirror", "mirror")
    sha256 = plugins[0].locked.sha256
    archive = cpctl.folder / "mirror" / "sha256" / sha256[:2] / sha256
    archive.write_bytes(bytes(reversed(plugins[0].content)))

    refused = cpctl(*INSTALL, "--mirror", "mirror")
    repaired = cpctl("plugins", "mirror", "mirror")

    assert refused.code == Exit.DIFFERS
    assert "not the expected one" in refused.err
    assert load_manifest(root).active == 0
    assert "1 archive " in repaired.out
    assert archive.read_bytes() == plugins[0].content


def test_a_mirror_over_http_gets_no_token(server, cpctl, pack, root):
    publish(server, pack, "1.0")
    assert cpctl("plugins", "mirror", "mirror").code == Exit.OK
    with serving_folder(cpctl.folder / "mirror") as (url, requests):
        ran = cpctl(*INSTALL, "--mirror", url)

    assert ran.code == Exit.OK, ran.err
    assert versions(root) == {"bq2bq": "1.0", "transporter": "1.0"}
    assert len(requests) == 3
    assert all("Authorization" not in headers for headers in requests)


def test_a_folder_stays_that_of_its_server_after_an_installation_from_a_mirror(server, cpctl, pack, root):
    publish(server, pack, "1.0")
    cpctl(*INSTALL)
    cpctl("plugins", "mirror", "mirror")
    assert cpctl(*INSTALL, "--mirror", "mirror").code == Exit.OK

    with running_plugin_server() as other:
        publish(other, pack, "1.0")
        cpctl.server = other.url
        assert cpctl(*INSTALL).code == Exit.CONFLICT


def test_archives_whose_address_has_no_suffix(server, cpctl, pack, root):
    """As the server has them from a mirror."""
    plugins = [pack("bq2bq", "1.0"), pack("transporter", "1.0")]
    for one in plugins:
        sha256 = one.locked.sha256
        moved = replace(one.locked, url=f"https://mirror.example.com/sha256/{sha256[:2]}/{sha256}")
        plugins[plugins.index(one)] = replace(one, locked=moved)
    server.publish(*plugins)

    assert cpctl(*INSTALL).code == Exit.OK
    assert cpctl("plugins", "mirror", "mirror").code == Exit.OK
    assert cpctl(*INSTALL[:-1], "other", "--mirror", "mirror").code == Exit.OK
    assert versions(root) == versions(Path("other")) == {"bq2bq": "1.0", "transporter": "1.0"}


def test_an_archive_with_other_files_than_the_lock_states_is_refused(server, cpctl, pack, root):
    (plugin,) = [pack("bq2bq", "1.0")]
    server.publish(replace(plugin, locked=replace(plugin.locked, tree="0" * 64)))

    ran = cpctl(*INSTALL)

    assert ran.code == Exit.DIFFERS
    assert "tree digest" in ran.err
    assert active_folders(root) == {}


def test_a_strict_installation_that_fails_does_not_wait_for_the_store(server, cpctl, pack, root):
    """What was fetched stays, so that the next run fetches only the rest."""
    new = publish(server, pack, "1.0")
    good = server.archives[new[1].locked.sha256]
    server.archives[new[1].locked.sha256] = bytes(reversed(good))

    failed = cpctl(*INSTALL)
    server.archives[new[1].locked.sha256] = good
    server.requests.clear()

    assert "Nothing was installed, because 1 archive(s) were not fetched" in failed.err
    assert cpctl(*INSTALL).code == Exit.OK
    assert [one.path for one in server.artifacts()] == ["/api/v1/plugins/transporter/artifact"]


def test_a_lock_file_decides_what_is_installed(server, cpctl, pack, root):
    publish(server, pack, "1.0")
    assert cpctl("plugins", "lock").code == Exit.OK
    assert cpctl("plugins", "mirror", "mirror").code == Exit.OK
    publish(server, pack, "2.0")
    cpctl("plugins", "mirror", "mirror")

    check = cpctl("plugins", "lock", "--check")
    locked = cpctl(*INSTALL, "--locked")
    gone = cpctl(*INSTALL, "--lock", "plugins.lock.json")
    by_file = cpctl(*INSTALL, "--lock", "plugins.lock.json", "--mirror", "mirror")
    installed = versions(root)
    upgraded = cpctl("plugins", "lock", "--upgrade", "bq2bq")

    assert check.code == Exit.DIFFERS
    assert "bq2bq: the server has 2.0, with another digest" in check.out
    assert (locked.code, gone.code, by_file.code) == (Exit.CONFLICT, Exit.DIFFERS, Exit.OK)
    assert "mirror that has it" in gone.err
    assert installed == {"bq2bq": "1.0", "transporter": "1.0"}
    assert upgraded.lines[0] == "~ bq2bq 1.0 -> 2.0"
    assert cpctl(*INSTALL, "--lock", "plugins.lock.json").code == Exit.OK
    assert versions(root) == {"bq2bq": "2.0", "transporter": "1.0"}
    assert cpctl("plugins", "lock", "--upgrade").code == Exit.OK
    assert cpctl("plugins", "lock", "--check").code == Exit.OK
    assert cpctl(*INSTALL, "--locked").code == Exit.OK
    assert versions(root) == {"bq2bq": "2.0", "transporter": "2.0"}


def test_each_server_and_team_has_a_folder(server, cpctl, pack, tmp_path):
    publish(server, pack, "1.0")
    publish(server, pack, "5.0", team="ml")
    with running_plugin_server() as other:
        publish(other, pack, "2.0")
        (cpctl.folder / "token").write_text(TOKEN)
        for name, url in (("a", server.url), ("b", other.url)):
            arguments = ("config", "set-context", name, "--server", url, "--token-file", "token")
            assert cpctl(*arguments).code == Exit.OK
        cpctl.server = cpctl.token = ""

        assert cpctl("plugins", "sync", "--context", "a", "--context", "b", "--root", "all").code == 0
        assert cpctl("plugins", "sync", "--context", "a", "--team", "ml", "--root", "all").code == 0

        folders = {str(path.parent.relative_to("all")) for path in Path("all").rglob("manifest.json")}
        ours, theirs = (f"127.0.0.1-{one.server_port}" for one in (server, other))
        assert folders == {f"{ours}/_default", f"{ours}/ml", f"{theirs}/_default"}
        assert versions(Path("all") / theirs / "_default")["bq2bq"] == "2.0"
        strange = cpctl(
            "--context", "b", "plugins", "install", "--mode", "client", "--root", f"all/{ours}/ml"
        )
        assert strange.code == Exit.CONFLICT
        assert f"has the plugins of {server.url} for team ml" in strange.err


def test_one_server_that_fails_does_not_stop_the_others(server, cpctl, pack):
    publish(server, pack, "1.0")
    (cpctl.folder / "token").write_text(TOKEN)
    with running_plugin_server() as empty:
        for name, url in (("empty", empty.url), ("good", server.url)):
            cpctl("config", "set-context", name, "--server", url, "--token-file", "token")
        cpctl.server = cpctl.token = ""

        ran = cpctl("plugins", "sync", "--context", "empty", "--context", "good", "--root", "all")

    assert ran.code == Exit.NOT_FOUND
    assert "empty: No release of plugins is active." in ran.err
    assert "2 installed" in ran.out


def test_roll_back_and_clean(server, cpctl, pack, root):
    for version in ("1.0", "2.0"):
        publish(server, pack, version)
        cpctl(*INSTALL)
    server.requests.clear()
    (root / "notes.txt").write_text("mine")

    back = cpctl("plugins", "rollback", "--mode", "client", "--root", "plugins", "--yes")
    listed = cpctl("plugins", "list", "--mode", "client", "--root", "plugins")
    downloads = server.artifacts()
    preview = cpctl("plugins", "clean", "--all", "--root", "plugins", "--dry-run")
    refused = cpctl("plugins", "clean", "--all", "--root", "plugins")
    cleaned = cpctl("plugins", "clean", "--all", "--root", "plugins", "--yes")

    assert (back.code, back.lines[-1]) == (Exit.OK, "Generation 1 is active.")
    assert [line.split()[1:3] for line in listed.lines[1:]] == [["1.0", "artifacts"]] * 2
    assert [line.split()[-1] for line in listed.lines[1:]] == ["2.0", "2.0"]
    assert downloads == []
    assert (preview.code, refused.code, cleaned.code) == (Exit.OK, Exit.USAGE, Exit.OK)
    assert "! notes.txt: not installed by cpctl, so it stays" in cleaned.out
    assert (root / "notes.txt").exists()
    assert active_folders(root) == {}
    assert cpctl(*INSTALL).code == Exit.OK
    assert versions(root) == {"bq2bq": "2.0", "transporter": "2.0"}


def test_a_folder_with_other_files_is_refused(server, cpctl, pack, root):
    publish(server, pack, "1.0")
    root.mkdir()
    (root / "thesis.tex").write_text("x")

    ran = cpctl(*INSTALL)

    assert ran.code == Exit.USAGE
    assert "thesis.tex" in ran.err
    assert [path.name for path in root.iterdir()] == ["thesis.tex"]


def test_a_dry_run_changes_nothing(server, cpctl, pack, root):
    publish(server, pack, "1.0")

    ran = cpctl(*INSTALL, "--dry-run")

    assert ran.code == Exit.OK
    assert ran.lines[:2] == ["+ bq2bq", "+ transporter"]
    assert not root.exists()
    assert server.artifacts() == []


def test_without_a_release_there_is_nothing_to_install(cpctl):
    ran = cpctl(*INSTALL)

    assert ran.code == Exit.NOT_FOUND
    assert "--mode server" in ran.err
