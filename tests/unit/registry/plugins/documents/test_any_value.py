"""Any value anywhere in a document gives diagnostics with pointers that exist, never an exception."""

from __future__ import annotations

import copy
import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from registry.plugins.documents.configuration import read_configuration
from registry.plugins.documents.spec_v1 import read_spec_v1
from registry.plugins.documents.spec_v2 import read_spec_v2
from tests.unit.registry.plugins.documents import test_spec_v1, test_spec_v2

CONFIGURATION = {
    "plugins": {
        "install_location": "x",
        "providers": [
            {
                "name": "web",
                "type": "url",
                "url": "https://host",
                "auth": {"type": "basic", "secretRef": "a", "username": "b"},
                "timeout": "3s",
                "retries": 1,
                "prefix": "a",
            },
            {"name": "bucket", "type": "gcs", "bucket": "team", "service_account": "e30="},
        ],
        "plugins": [
            {
                "provider": "web",
                "output": "a",
                "path": "a.zip",
                "version": "1",
                "checksum": "sha256:" + "ab" * 32,
                "signature": {"type": "sigstore", "identity": "a", "issuer": "b"},
                "config": {"init_image": "a:1", "b": 1},
                "requires_server": ">1",
            }
        ],
    }
}
DOCUMENTS = {
    "configuration": (read_configuration, CONFIGURATION),
    "v1": (read_spec_v1, yaml.safe_load(test_spec_v1.VALID)),
    "v2": (read_spec_v2, yaml.safe_load(test_spec_v2.VALID)),
}
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    SCALARS
    | st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)
    | st.just("${config."),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "type", "x/y", "~"]), inner)
    ),
    max_leaves=5,
)


def pointers(value, at=()):
    """The steps to every value below the root."""
    members = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for step, inner in members:
        yield (*at, step)
        yield from pointers(inner, (*at, step))


def replaced(document, steps, value):
    changed = copy.deepcopy(document)
    parent = changed
    for step in steps[:-1]:
        parent = parent[step]
    parent[steps[-1]] = value
    return changed


def exists(pointer, document):
    for step in pointer.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        document = document[int(name)] if isinstance(document, list) else document[name]
    return True


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_documents_are_valid_before(name):
    read, document = DOCUMENTS[name]

    assert read(json.dumps(document)).errors == ()


@pytest.mark.parametrize("name", DOCUMENTS)
@given(data=st.data())
def test_any_value_gives_diagnostics(name, data):
    read, document = DOCUMENTS[name]
    steps = data.draw(st.sampled_from(list(pointers(document))))
    changed = replaced(document, steps, data.draw(VALUES))

    reading = read(json.dumps(changed))
    assert (reading.content is None) == bool(reading.errors)
    assert all(exists(diagnostic.path, changed) for diagnostic in reading.diagnostics)
    assert all(diagnostic.line and diagnostic.column for diagnostic in reading.diagnostics)
