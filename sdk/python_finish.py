"""Finish the generated Python client: errors raise, and plain dicts do where a model does.

openapi-python-client hands a problem document back as if it were the answer, and calls `to_dict` on
everything it sends. A generator that writes its functions otherwise fails `make sdk`.
"""

from __future__ import annotations

import re
from pathlib import Path

# `sync` and `asyncio` answer the parsed body. `sync_detailed` and `asyncio_detailed` stay as they are: they
# answer any status, for callers that look at it themselves.
_ANSWER = re.compile(
    r"(?P<head>\n(?:async )?def (?:sync|asyncio)\([^)]*\) -> )(?P<type>[^\n]+):\n"
    r"(?P<docs>.*?)"
    r"    return (?P<call>(?:\(await asyncio_detailed\(|sync_detailed\().*?)\.parsed\n",
    re.DOTALL,
)
_BODY_TYPE = re.compile(r"^    body:(?P<types>[^=\n]+?)(?P<rest>(?: = UNSET)?,)$", re.MULTILINE)
_BODY_CHECK = re.compile(r"if isinstance\(body, (?P<model>[A-Z]\w+)\):")
_SENT = re.compile(r"(?P<value>[\w.]+)\.to_dict\(\)$", re.MULTILINE)
_IMPORT = "from ... import errors\n"


def finish(package: Path) -> None:
    """Edit the generated package in place. Raises SystemExit where the generator wrote something unknown."""
    for module in sorted(package.glob("api/*/*.py")):
        if module.name != "__init__.py":
            module.write_text(_operation(module.read_text(), module.stem))
    for module in sorted(package.glob("models/*.py")):
        module.write_text(_model(module.read_text()))


def _operation(text: str, name: str) -> str:
    text, answers = _ANSWER.subn(_raising, text)
    if answers != text.count("def sync(") + text.count("def asyncio("):
        raise SystemExit(f"{name}: the generated code has changed; sdk/python_finish.py must follow it.")
    text = _BODY_TYPE.sub(_accepts_mapping, text)
    text = _BODY_CHECK.sub(r"if isinstance(body, (\g<model>, Mapping)):", text)
    text = _SENT.sub(r"plain(\g<value>)", text)
    ours = "from ...problems import checked\nfrom ...plain import plain\n"
    return "from collections.abc import Mapping\n" + text.replace(_IMPORT, _IMPORT + ours, 1)


def _raising(found: re.Match[str]) -> str:
    answers = [kind for kind in found["type"].split(" | ") if kind not in ("Problem", "None")]
    call = found["call"]
    if call.startswith("(await"):
        call = call[1:-1]
    documented = found["docs"].replace(
        "Raises:\n", "Raises:\n        Problem: If the server refuses the request.\n"
    )
    documented = documented.replace("Problem | ", "").replace(" | Problem", "")
    return f"{found['head']}{' | '.join(answers) or 'None'}:\n{documented}    return checked({call})\n"


def _accepts_mapping(found: re.Match[str]) -> str:
    types = " | ".join(kind.strip() for kind in found["types"].split("|"))
    if types == "str":
        return found[0]
    return f"    body: {types} | Mapping[str, Any]{found['rest']}"


def _model(text: str) -> str:
    text, sent = _SENT.subn(r"plain(\g<value>)", text)
    if not sent:
        return text
    return text.replace(
        "from ..types import UNSET, Unset\n",
        "from ..plain import plain\nfrom ..types import UNSET, Unset\n",
        1,
    )
