"""Calls for FlyteAdmin and for us. `{p}`: a project that both have. `{q}`: one that neither has."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

SNAKE, CAMEL, PROTOBUF = "application/json", "*/*", "application/octet-stream"
FORM = "application/x-www-form-urlencoded"
LEVELS = (
    "project_attributes/{p}",
    "project_domain_attributes/{p}/development",
    "workflow_attributes/{p}/development/a.b.c",
)
PD = LEVELS[1]


@dataclass(frozen=True, slots=True)
class Call:
    method: str
    path: str
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)

    def of(self, project: str) -> Call:
        """The call for a project."""
        replaced = self.path.replace("{p}", project).replace("{q}", f"{project}-none")
        body = self.body.replace(b"{p}", project.encode()).replace(b"{q}", f"{project}-none".encode())
        return Call(self.method, f"/api/v1/{replaced}", body, self.headers)


def matching(member: str) -> bytes:
    return f'{{"attributes":{{"matchingAttributes":{member}}}}}'.encode()


def config(member: str) -> str:
    return f'{{"workflowExecutionConfig":{{{member}}}}}'


# One member of MatchingAttributes each, read by both JSON marshalers.
MEMBERS = [
    *(
        config(f'"maxParallelism":{number}')
        for number in (
            *(
                "5",
                "5.0",
                "50e-1",
                "2.5",
                "1e3",
                "1e99",
                "1e9999999999",
                "0e999",
                "-0.0",
                "2147483648",
                "true",
            ),
            *('"5"', '" 5"', '"5 "', '"5e0"', '"5,"', '""', '"x"', "null", "{}", "[1]", "1e-999999", "true"),
        )
    ),
    *(config(f'"interruptible":{value}') for value in ("true", "false", "null", '"true"', "{}", "0")),
    *(
        config(f'"labels":{value}')
        for value in ("null", "{}", "[]", '{"values":null}', '{"values":{"a":null}}')
    ),
    config('"labels":{"values":{"a":"1","a":"2"}}'),
    config('"labels":{"values":{"a":"1","b":"2"}}'),
    config('"envs":{"values":[null]}'),
    config('"envs":{"values":{}}'),
    config('"overwriteCache":"true"'),
    config('"executionEnvAssignments":[{"executionEnv":{"spec":{"a":1,"a":2}}}]'),
    config('"executionEnvAssignments":[{"executionEnv":{"spec":[]}}]'),
    config('"executionEnvAssignments":[{"executionEnv":{"spec":{},"extant":{}}}]'),
    config('"executionEnvAssignments":[{"nodeIds":["n"],"executionEnv":{"spec":{"a":[1,{"b":null}]}}}]'),
    '{"executionClusterLabel":{"value":5}}',
    '{"executionClusterLabel":{"value":null}}',
    '{"executionClusterLabel":{"value":"\\u0041\\ud83d\\ude00 é"}}',
    '{"executionClusterLabel":{},"clusterAssignment":{}}',
    '{"executionClusterLabel":{},"execution_cluster_label":{}}',
    '{"executionClusterLabel":null,"execution_cluster_label":{}}',
    '{"executionClusterLabel":null,"clusterAssignment":{}}',
    '{"clusterAssignment":{"clusterPoolName":"x"}}',
    '{"clusterResourceAttributes":{"attributes":{"z":"1","a":""}}}',
    '{"executionQueueAttributes":{"tags":["b","a"]}}',
    '{"qualityOfService":{"spec":{"queueingBudget":"5"}}}',
    '{"qualityOfService":{"spec":{"queueingBudget":5}}}',
    '{"qualityOfService":{"spec":{"queueingBudget":"9999999999999s"}}}',
    '{"unknown":{"a":[1,{"b":"c"}]}}',
    '{"[x]":1}',
    "{}",
    "null",
    "[]",
]
BODIES = [
    *(b"", b"{}", b"[]", b"5", b'"x"', b"null", b'{"attributes":', b'{"attributes":{},"attributes":{}}'),
    *(
        b'{"attributes":tru}',
        b'{"attributes":nul',
        b"{a:1}",
        b'{"a" 1}',
        b'{"a":1 "b"}',
        b'{"attributes":{},}',
    ),
    *(b"[1 2]", b'{"attributes":01}', b'{"attributes":1.}', b'{"attributes":1.x}', b'{"attributes":-}'),
    *(b'{"attributes":1e}', b'{"attributes":NaN}', b"{'a':1}", b"\x00", b'{"attributes":\x01}', b'"a\x01"'),
    *(b'{"a":"\\q"}', b'{"a":"\\u12', b'{"a":"\\u12g4"}', b'{"a":"\\', b"{", b"[1,", b"[1,]", b'"abc'),
    *(b"\xef\xbb\xbf{}", b"\xff", b'{"attributes":{"project":"\xff"}}', b"[" * 20_000, "{é}".encode()),
    *(b' \n {"attributes":\n  {"y":1}}', b'{"attributes":[]}', b'{"attributes":{"org":"x"}} trailing'),
    '{\n"attributes":{\n\n   "é":1, "domain":[]}}'.encode(),
    b'{"attributes":{"project":5}}',
]
DELETIONS = (
    *('{"resource_type":"2"}', '{"resource_type":"nope"}', '{"resource_type":2.5}', '{"resource_type":2.0}'),
    *(
        '{"resource_type":44}',
        '{"resource_type":4,"resourceType":4}',
        '{"resource_type":99999999999}',
        "{}",
        "",
    ),
)
FILTERS = (
    *(
        "eq(p.x,1)",
        "eq(x,1)",
        "eq(name,)",
        "eq(name,a,b)",
        "foo(name,a)",
        "foo(x,a)",
        "eq(task.name,a)",
        "bad",
    ),
    *("eq(identifier,{p})+", "x eq(name,y) z", "eq( name,x)", "eq(identifier,{p})", "eq(identifier, {p})"),
    *("eq(project.identifier,{p})+eq(state,0)", "value_in(identifier,{p};x)", "value_in(identifier,{p})"),
    *("contains(identifier,{p})+not_like(identifier,x%)", "eq(name,\n)"),
)
QUERIES = (
    *("sort_by.direction=ASCENDING", "sort_by.key=x", "sort_by.direction=5", "sort_by=x", "sort_by.x=1"),
    *("token=x", "token=-1", "token=99999999999999999999", "limit=x", "limit=-1", "limit=4294967296"),
    *("filters=bad&token=x", "token=x&sort_by.key=x", "a=%zz", "a=%z", "a=b;c=d", "limit=1&limit=2"),
    *("limit.x=1", "limit[a]=1", "sort_by.key=a&sort_by.key=b"),
)
TYPES = (
    *(
        "3",
        "03",
        "%2B3",
        "+3",
        "-1",
        "44",
        "",
        "EXECUTION_CLUSTER_LABEL",
        "execution_cluster_label",
        "3&org=x",
    ),
    *("3&org=x", "3&resource_type=4", "0", "1", "2", "5", "6", "7", "4"),
)
PATHS = (
    *("GET project_attributes", "GET projects/", "GET projects/{p}/", "GET projects/{q}"),
    *("GET projects/{p}", "GET projects/{p}:x", "PATCH projects", "PUT matchable_attributes"),
    "PUT domains",
    *(
        "GET domains",
        "GET domains/x",
        "GET domains/",
        "GET /projects",
        "GET projects//x?y=1",
    ),
    *(
        "PUT projects//x",
        "GET projects/../domains",
        "GET workflow_attributes/{p}/development/",
        "DELETE version",
    ),
    *("GET workflow_attributes/{p}/development/a%2Fb", "GET workflow_attributes/{p}/development/a%20b"),
    *("GET project_attributes/{q}", "GET project_domain_attributes/{p}/nope"),
    *("GET project_domain_attributes/{q}/development", "DELETE project_attributes/{q}", "GET children/x"),
    *("GET matchable_attributes/x", "GET named_entities/x", "GET project_domain_attributes/{p}"),
)
PROJECTS: tuple[tuple[str, Any], ...] = (
    *(
        ("POST projects", {"project": {**project}})
        for project in ({}, {"id": "x"}, {"name": "x"}, {"id": "A_"})
    ),
    ("POST projects", {}),
    ("POST projects", {"project": {"id": "{p}-x", "name": "é" * 33}}),
    ("POST projects", {"project": {"id": "{p}-x", "name": "x", "description": "é" * 151}}),
    ("POST projects", {"project": {"id": "{p}-x", "name": "x", "domains": [{"id": "d"}]}}),
    ("POST projects", {"project": {"id": "{p}-x", "name": "x", "labels": {"values": {"k": "/"}}}}),
    ("POST projects", {"project": {"id": "{p}-x", "name": "x", "labels": {"values": {"k": "/" * 64}}}}),
    ("POST projects", {"project": {"id": "x" * 64, "name": "x"}}),
    ("POST projects", {"project": {"id": "_" * 64, "name": "x"}}),
    ("PUT projects/{q}", {"name": "x"}),
    ("PUT projects/{p}", {"name": "é" * 33}),
    ("PUT projects/{p}", {"name": "renamed", "labels": {"values": {"a": "b"}}}),
    ("PUT projects/{p}", {"state": "ARCHIVED"}),
    ("GET project_domain_attributes/{p}/development?resource_type=3", None),
    ("PUT project_attributes/{p}", {"attributes": {"matchingAttributes": {"executionClusterLabel": {}}}}),
    ("GET project_attributes/{p}?resource_type=6", None),
    ("DELETE project_attributes/{p}", {"resource_type": 6}),
    ("PUT projects/{p}", {"state": 0, "description": "back"}),
    ("GET projects/{p}", None),
)


def edges() -> Iterator[Call]:
    """Single calls at the edges of the formats, each in both JSON marshalers or as all clients send it."""
    for sends in (SNAKE, FORM):
        headers = {"Content-Type": sends}
        yield from (Call("PUT", PD, matching(member), headers) for member in MEMBERS)
        yield from (Call("PUT", PD, body, headers) for body in BODIES)
        yield from (Call("DELETE", LEVELS[2], text.encode(), headers) for text in DELETIONS)
    yield from (Call("GET", f"projects?filters={quote(text, safe='{}')}") for text in FILTERS)
    yield from (Call("GET", f"projects?{query}") for query in QUERIES)
    yield from (Call("GET", f"{level}?resource_type={text}") for level in LEVELS for text in TYPES)
    yield from (Call(*path.split(" ", 1)) for path in PATHS)
    for path, body in PROJECTS:
        text = b"" if body is None else json.dumps(body, ensure_ascii=False).encode()
        yield Call(*path.split(" ", 1), body=text)


ROWS: dict[str, list[Any]] = {
    "taskResourceAttributes": [{}, {"defaults": {"cpu": "1"}}, {"limits": {"memory": "1Gi"}, "defaults": {}}],
    "clusterResourceAttributes": [{}, {"attributes": {"b": "1", "a": "x"}}],
    "executionQueueAttributes": [{"tags": ["x", "y"]}, {"tags": []}],
    "executionClusterLabel": [{"value": "x"}, {}],
    "pluginOverrides": [
        {"overrides": [{"taskType": "a", "pluginId": ["1"]}, {"taskType": "b", "missingPluginBehavior": 1}]},
        {"overrides": [{"taskType": "b"}]},
        {"overrides": []},
    ],
    "workflowExecutionConfig": [
        {"maxParallelism": 3, "labels": {"values": {"a": "1"}}},
        {"securityContext": {}, "interruptible": False},
        {"securityContext": {"runAs": {"iamRole": "r"}}, "overwriteCache": True, "rawOutputDataConfig": {}},
        {"envs": {"values": [{"key": "A", "value": "1"}]}, "executionEnvAssignments": [{"taskType": "t"}]},
    ],
    "clusterAssignment": [{"clusterPoolName": "x"}, {}],
}
NUMBERS = dict(zip(ROWS, (0, 1, 2, 3, 5, 6, 7), strict=True))


def story(chance: random.Random, length: int) -> Iterator[Call]:
    """Writes, deletions and reads at all levels, without what FlyteAdmin's known defects would answer.

    Its deletions above a workflow cascade, so what is below is deleted before. Plugin overrides are written
    for workflows alone: above, its first read meets the wrong row (ADR 0017).
    """
    for _ in range(length):
        member = chance.choice(list(ROWS))
        depth = 2 if member == "pluginOverrides" else chance.randrange(3)
        accepts = {"Accept": chance.choice((SNAKE, CAMEL, PROTOBUF))}
        if chance.random() < 0.4:
            body = matching(json.dumps({member: chance.choice(ROWS[member])}))
            yield Call("PUT", LEVELS[depth], body, {**accepts, "Content-Type": chance.choice((SNAKE, FORM))})
        elif chance.random() < 0.3:
            body = b'{"resource_type":%d}' % NUMBERS[member]
            yield from (Call("DELETE", LEVELS[at], body, accepts) for at in range(2, depth - 1, -1))
        else:
            path = f"{LEVELS[chance.randrange(3)]}?resource_type={NUMBERS[member]}"
            yield Call("GET", path, headers=accepts)
