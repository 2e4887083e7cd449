"""Passwords in the console: right, wrong, in the wrong field, confirmed, and changed."""

from __future__ import annotations

import secrets

from tests.nightly.secret_flows.story import Story


def run(story: Story) -> None:
    wrong = story.memory.remember("a wrong password", secrets.token_urlsafe(16))
    misplaced = story.memory.remember("a password as a name", secrets.token_urlsafe(16))
    for name, password in ((story.name, wrong), (misplaced, wrong), ("nobody", wrong)):
        assert story.log_in(story.new_browser(), name, password).status_code == 422

    assert story.log_in(story.browser, story.name, story.password).status_code == 302
    confirm = {"password": wrong, "next": "/tokens"}
    assert story.submit(story.browser, "/login/step-up?next=/tokens", confirm).status_code == 400
    confirm = {"password": story.password, "next": "/tokens"}
    assert story.submit(story.browser, "/login/step-up?next=/tokens", confirm).status_code == 302
    story.remember_cookies(story.browser)
    _change_password(story)
    _reset_by_api(story)


def _change_password(story: Story) -> None:
    new = story.memory.remember("a new password", secrets.token_urlsafe(16))
    form = {"current_password": story.password, "new_password": new, "repeated": new}
    assert story.submit(story.browser, "/account/password", form).status_code == 302
    story.remember_cookies(story.browser)
    short = {"current_password": new, "new_password": "tooshort1", "repeated": "tooshort1"}
    story.memory.remember("a refused password", "tooshort1")
    assert story.submit(story.browser, "/account/password", short).status_code == 400
    story.password = new


def _reset_by_api(story: Story) -> None:
    password = story.memory.remember("a password by the API", secrets.token_urlsafe(16))
    body = {"name": "person-by-api", "kind": "person", "password": password}
    story.api("POST", "principals", body, expect=201)
    browser = story.new_browser()
    assert story.log_in(browser, "person-by-api", password).status_code == 302
    assert story.submit(browser, "/sessions", {}).status_code in (200, 405)
    browser.get("/logout")
