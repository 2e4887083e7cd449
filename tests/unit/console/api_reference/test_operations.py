"""Operations of an OpenAPI document, with their fields flat."""

from __future__ import annotations

from typing import Any

import yaml

from console.api_reference.operations import Answer, Field, operations

DOCUMENT: dict[str, Any] = yaml.safe_load("""
paths:
  /api/v1/agents/{agent_id}:
    get:
      operationId: agents_get
      summary: Get an agent
      tags: [agents]
      x-required-permission: agent.read
      parameters:
      - {name: agent_id, in: path, required: true, schema: {type: string, format: uuid}}
      - {name: limit, in: query, schema: {type: integer}}
      - {name: sort, in: query, schema: {enum: [name, -name]}, description: Sort order.}
      responses:
        "200":
          description: ""
          content:
            application/json:
              schema: {$ref: "#/components/schemas/Agent"}
              examples: {one: {value: {name: eu-1}}}
        "404": {$ref: "#/components/responses/Problem404"}
    put:
      operationId: agents_put
      deprecated: true
      requestBody:
        content:
          application/json: {schema: {allOf: [{$ref: "#/components/schemas/Agent"}]}}
      responses: {"204": {description: No content.}}
components:
  responses:
    Problem404:
      description: It does not exist.
      content: {application/problem+json: {schema: {type: object}}}
  schemas:
    Agent:
      required: [name]
      properties:
        name: {type: string, maxLength: 63, description: Its name.}
        parents: {type: array, items: {$ref: "#/components/schemas/Agent"}}
        scope: {allOf: [{$ref: "#/components/schemas/Scope"}], description: Where it is.}
    Scope:
      properties:
        project: {type: string}
""")


def test_an_operation_has_flat_fields() -> None:
    reading, writing = operations(DOCUMENT)

    assert (reading.id, reading.method, reading.path) == ("agents_get", "GET", "/api/v1/agents/{agent_id}")
    assert (reading.tag, reading.permission, reading.is_deprecated) == ("agents", "agent.read", False)
    assert reading.parameters == (
        Field("agent_id", "uuid, path", True, ""),
        Field("limit", "whole number, query", False, ""),
        Field("sort", "one of name, -name, query", False, "Sort order."),
    )
    fields = (
        Field("name", "text, at most 63 characters", True, "Its name."),
        Field("parents", "list of object", False, ""),
        Field("scope", "any", False, "Where it is."),
        Field("scope.project", "text", False, ""),
    )
    assert [field.name for field in reading.answers[0].fields if not field.name.startswith("parents[]")] == [
        field.name for field in fields
    ]
    assert reading.answers[0].fields[0] == fields[0]
    assert reading.answers[0].example == '{\n  "name": "eu-1"\n}'
    assert reading.answers[1] == Answer("404", "It does not exist.", (), "")
    assert (writing.is_deprecated, writing.answers) == (True, (Answer("204", "No content.", (), ""),))
    assert [field.name for field in writing.body][:2] == ["name", "parents"]


def test_an_object_that_contains_itself_ends() -> None:
    names = [field.name for field in next(operations(DOCUMENT)).answers[0].fields]

    assert "parents[].name" in names
    assert "parents[].parents[].name" not in names
