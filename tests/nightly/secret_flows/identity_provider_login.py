"""A login at the identity provider: its code and state, the cookie of the attempt, and the session."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

from tests.nightly.secret_flows.story import Story


def run(story: Story) -> None:
    browser = story.new_browser()
    story.provider.set_claims("ada", email="ada@example.com", groups=["ml"])
    begun = browser.get("/login", params={"idp": "idp"})
    assert begun.status_code == 302, begun.text[:500]
    story.remember_cookies(browser)
    callback = urlsplit(story.provider.log_in(begun.headers["Location"], "ada"))
    for name, values in parse_qs(callback.query).items():
        if name in ("code", "state"):
            story.memory.remember(f"the {name} of the provider", values[0])
    finished = browser.get(f"{callback.path}?{callback.query}")
    assert finished.status_code == 302, finished.text[:500]
    story.remember_cookies(browser)
    assert browser.get("/sessions").status_code == 200
    # The code and state are used up.
    assert browser.get(f"{callback.path}?{callback.query}").status_code >= 400
    browser.get("/logout")
