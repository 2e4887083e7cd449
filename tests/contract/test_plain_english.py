"""Phrases that must not come back: a reader had to translate each of them back."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Left: the phrase. Right: what a technical writer of this field writes.
PHRASES = {
    r"\b(of|to) ours\b": "ours -> our, or the noun",
    r"\bin vain\b": "in vain -> rejected",
    r"\b[Dd]oors? (to|of|for)\b": "door -> HTTP endpoint",
    r"\b(is|are|was|were|be|been) told\b": "is told -> gets, receives",
    r"\bwithout end\b": "without end -> never expires",
    r"\bstands? again\b": "stand again -> roll back, restore",
    r"\b(do|does|did) not fit\b": "does not fit -> is incorrect, does not match",
    r"\b(your|somebody's|an operator's|the operator's) word\b": "word -> decision, confirmation",
    r"\bkeeps nothing\b": "keeps nothing -> stateless",
    r"\bl(ies|ie|ay) (in|at|below|beside|above|under|on)\b": "lies in -> is in",
    r"\btak(e|es|en|ing) away\b": "take away -> remove, revoke, delete",
    r"\bgoes? with (him|her|it)\b": "goes with -> is deleted with",
    r"\blets? (nobody|anybody|somebody) in\b": "lets in -> accepts, admits",
    r"\b(has|have) (been )?(had|got) (the )?better of\b": "idiom",
    r"\b(say|says|said) of (itself|themselves|ourselves|oneself)\b": "says of itself -> reports",
    r"\b(nobody|somebody|anybody) (has|had|takes|took) (it|them) for\b": "take for -> mistake for",
    r"\bthe (last|former) release still asks? for\b": "ask for -> read",
    r"\bwe do not know who you are\b": "-> Authentication required",
    r"\bhow (it|they) stands?\b": "how it stands -> status",
    r"\bmeets? nobody\b": "idiom",
    r"\bwhoever\b": "whoever -> the client, the operator, the team",
    r"\banew\b": "anew -> again, restart",
    r"\btold apart\b": "tell apart -> distinguish",
    r"\bsays? so\b": "say so -> state, report",
    r"\b(said goodbye|sent away)\b": "-> deregistered, retired",
}
PATTERN = re.compile("|".join(f"(?:{phrase})" for phrase in PHRASES), re.IGNORECASE)
CODE = ("console", "controlplane", "cpctl", "overrides", "plugin_store", "registry", "sdk")
TRACKED = subprocess.run(
    ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
).stdout.splitlines()
TEXTS = [
    name
    for name in TRACKED
    if (name.endswith((".md", ".html")) and not name.startswith(("tests/", "changes/")))
    or name in ("openapi.yaml", "Makefile")
]
MODULES = [name for name in TRACKED if name.endswith(".py") and name.startswith(CODE)]


def strings(module: Path) -> Iterator[tuple[int, str]]:
    """Every string of a module with its line, docstrings included."""
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


@pytest.mark.parametrize("name", TEXTS)
def test_no_text_has_a_phrase_that_must_not_come_back(name: str) -> None:
    lines = enumerate((ROOT / name).read_text().splitlines(), start=1)

    assert [(number, match[0]) for number, line in lines for match in PATTERN.finditer(line)] == []


def test_no_string_has_a_phrase_that_must_not_come_back() -> None:
    assert [
        (name, line, match[0])
        for name in MODULES
        for line, text in strings(ROOT / name)
        for match in PATTERN.finditer(text.replace("\n", " "))
    ] == []


@pytest.mark.parametrize(
    "text",
    [
        "no token of ours",
        "claims it in vain",
        "Doors to agents",
        "The agent is told so.",
        "A file lies in a folder.",
    ],
)
def test_the_list_knows_what_was_read(text: str) -> None:
    assert PATTERN.search(text)
