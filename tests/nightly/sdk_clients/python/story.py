"""The story with the client of openapi-generator for Python."""

import json
import os
from datetime import UTC, datetime

import openapi_client as cp

settings = cp.Configuration(host=os.environ["CP_URL"], access_token=os.environ["CP_TOKEN"])
with cp.ApiClient(settings) as client:
    overrides, agents = cp.OverridesApi(client), cp.AgentsApi(client)
    me = cp.AccessApi(client).me_get()
    project = cp.ProjectsAndDomainsApi(client).projects_create(
        cp.ProjectWriteRequest(id="sdk-python", name="Python")
    )
    override = overrides.overrides_put(
        "workflow_execution_config",
        cp.OverrideWriteRequest(attributes={"max_parallelism": 7}),
        project=project.id,
    )
    leaf = overrides.overrides_effective(project=project.id).items[0].leaves[0]
    agent = agents.agents_register(
        cp.OwnedRegistrationWriteRequest(
            name="sdk-python",
            environment="prod",
            service_types=["vm"],
            cost="low",
            topic_name="dcm.agent.sdk-python",
        )
    )
    heartbeat = agents.agents_heartbeat(
        agent.agent_id, cp.HeartbeatWriteRequest(timestamp=datetime.now(UTC), consumer_lag=0)
    )
    try:
        agents.agents_get("019a9f5e-7c00-7000-8000-000000000001")
        code = "found"
    except cp.exceptions.NotFoundException as error:
        code = json.loads(error.body)["code"]
    named = "true" if me.name else "false"
    print(named, override.version, leaf.value, leaf.source.scope.level.value, heartbeat.health_status, code)
