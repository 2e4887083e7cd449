"""Names of YAML documents that other parsers do not read as text."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from controlplane.formats import strict_yaml
from controlplane.formats.yaml_names import find_ambiguous_names


@pytest.mark.parametrize(
    ("text", "pointers"),
    [
        ("a: 1\n'3.6': 2\n\"no\": 3\n", set()),
        ("3.6: 1\n", {"/3.6"}),
        ("a:\n  - {}\n  - no: {x: [1, {2024-01-01: 1}]}\n", {"/a/1/no", "/a/1/no/x/1/2024-01-01"}),
        ("~: 1\n", {"/~0"}),
        ('{"3": {4: 5}}', {"/3/4"}),
        ("1.0.0: x\n1e3: y\n", {"/1e3"}),
        ("[1, 2]", set()),
        ("", set()),
    ],
)
def test_names_with_their_pointers(text, pointers):
    assert find_ambiguous_names(text) == pointers


@given(st.dictionaries(st.from_regex(r"[0-9a-df-z.:_+-]{1,8}", fullmatch=True), st.just(1)))
def test_what_pyyaml_leaves_unquoted_is_ambiguous_only_as_a_number_of_yaml_1_2(names):
    pointers = find_ambiguous_names(yaml.safe_dump(names))

    assert [pointer for pointer in pointers if isinstance(strict_yaml.load(pointer[1:]), str)] == []
