"""`make screenshots`: pictures of the console's pages from the demo, and docs/pictures.md with all of them.

It starts `make up` on a folder of its own, or looks at a running one: --url and --data-dir.
"""

from __future__ import annotations

import argparse
import json
import signal
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from tests.support.chromium import MISSING, find_chromium
from tests.support.launcher import ROOT, Up
from tests.support.picture_pages import PAGES, Picture
from tests.support.small_png import small_png
from tests.support.waiting import until

READY = "Ctrl-C stops everything."
SIZES = {"wide": {"width": 1280, "height": 760}, "narrow": {"width": 390, "height": 844}}
# The flapping agent has fallen silent then, and the silent ones are unavailable.
SETTLED_SECONDS = 310


@dataclass(frozen=True)
class Site:
    url: str
    data_dir: Path

    def get(self, path: str) -> Any:
        token = (self.data_dir / "admin.token").read_text().strip()
        headers = {"Authorization": f"Bearer {token}"}
        with urllib.request.urlopen(
            urllib.request.Request(f"{self.url}/api/v1/{path}", headers=headers)
        ) as answer:
            return json.load(answer)

    def identifier(self, path: str, field: str) -> str:
        return str(self.get(path)["items"][0][field])


@contextmanager
def running_site(url: str, data_dir: Path | None) -> Iterator[Site]:
    if url and data_dir:
        yield Site(url, data_dir)
        return
    with tempfile.TemporaryDirectory() as folder:
        up = Up(Path(folder) / "data")
        try:
            up.wait_for(READY)
            record = up.data_dir / "demo.loaded"
            until(lambda: "plugins" in json.loads(record.read_text())["chapters"], 120)
            time.sleep(SETTLED_SECONDS)
            yield Site(up.url, up.data_dir)
        finally:
            up.stop(signal.SIGTERM)


def take(browser: Browser, site: Site, folder: Path) -> list[tuple[Picture, list[str]]]:
    """Take every picture, and return each with its files."""
    painter = browser.new_page()
    page = browser.new_context(base_url=site.url, reduced_motion="reduce", viewport=SIZES["wide"]).new_page()
    is_logged_in = False
    files = []
    for picture in PAGES:
        identifier = ""
        for path, field in picture.identifiers:
            identifier = site.identifier(path.format(identifier), field)
        if picture.name != "login" and not is_logged_in:
            log_in(page, site)
            is_logged_in = True
        page.set_viewport_size(SIZES["wide"])
        response = page.goto(picture.address.format(identifier))
        assert response, picture.name
        assert response.ok, f"{picture.name}: {response.status}"
        page.wait_for_load_state("networkidle" if picture.waits else "load")
        files.append((picture, [*_ways(page, painter, picture, folder)]))
    return files


def log_in(page: Page, site: Site) -> None:
    page.goto("/login")
    page.locator("input[name=username]").fill("admin")
    page.locator("input[name=password]").fill((site.data_dir / "admin.password").read_text().strip())
    page.locator("input[name=password]").press("Enter")
    page.wait_for_url("**/")


def _ways(page: Page, painter: Page, picture: Picture, folder: Path) -> Iterator[str]:
    ways = [("light", "wide")]
    if picture.is_main:
        ways += [("dark", "wide"), ("light", "narrow")]
    for theme, size in ways:
        page.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)
        page.set_viewport_size(SIZES[size])
        page.evaluate("scrollTo(0, 0)")
        ending = "" if (theme, size) == ("light", "wide") else f"-{'dark' if theme == 'dark' else 'phone'}"
        name = f"{picture.name}{ending}.png"
        (folder / name).write_bytes(small_png(painter, page.screenshot()))
        yield name


def write_index(files: list[tuple[Picture, list[str]]], path: Path) -> None:
    lines = [
        "# Pictures of the console",
        "",
        "Taken by `make screenshots` from the [demo](tour.md) of `make up`.",
    ]
    group = ""
    for picture, names in files:
        if picture.group != group:
            group = picture.group
            lines += ["", f"## {group}"]
        lines += ["", f"### {picture.title}", "", picture.caption, ""]
        lines += [f"![{picture.title}{_way(name)}](images/{name})" for name in names]
    path.write_text("\n".join(lines) + "\n")


def _way(name: str) -> str:
    return {"-dark.png": ", dark", "phone.png": ", on a phone"}.get(f"{name[-9:]}", "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", default="")
    parser.add_argument("--data-dir", type=Path)
    options = parser.parse_args()
    folder = ROOT / "docs" / "images"
    chromium = find_chromium()
    if chromium is None:
        parser.error(MISSING)
    with running_site(options.url, options.data_dir) as site, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        files = take(browser, site, folder)
        browser.close()
    write_index(files, ROOT / "docs" / "pictures.md")
    size = sum(path.stat().st_size for path in folder.iterdir())
    print(
        f"{sum(len(names) for _, names in files)} pictures of {len(files)} pages; {size / 1e6:.1f} MB in all"
    )


if __name__ == "__main__":
    main()
