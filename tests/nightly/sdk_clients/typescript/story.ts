// The story with the client of openapi-generator for TypeScript (fetch).
import {
  AccessApi, AgentsApi, Configuration, OverridesApi, ProjectsAndDomainsApi, ResponseError,
} from "./client/index.js";

const settings = new Configuration({
  basePath: process.env["CP_URL"], accessToken: process.env["CP_TOKEN"],
});
const overrides = new OverridesApi(settings);
const agents = new AgentsApi(settings);
const me = await new AccessApi(settings).meGet();
const project = await new ProjectsAndDomainsApi(settings).projectsCreate({
  projectWriteRequest: { id: "sdk-typescript", name: "TypeScript" },
});
const override = await overrides.overridesPut({
  resourceType: "workflow_execution_config", project: project.id,
  overrideWriteRequest: { attributes: { max_parallelism: 7 } },
});
const leaf = (await overrides.overridesEffective({ project: project.id })).items[0]!.leaves[0]!;
const agent = await agents.agentsRegister({
  ownedRegistrationWriteRequest: {
    name: "sdk-typescript", environment: "prod", serviceTypes: ["vm"], cost: "low",
    topicName: "dcm.agent.sdk-typescript",
  },
});
const heartbeat = await agents.agentsHeartbeat({
  agentId: agent.agentId, heartbeatWriteRequest: { timestamp: new Date(), consumerLag: 0 },
});
let code = "found";
try {
  await agents.agentsGet({ agentId: "019a9f5e-7c00-7000-8000-000000000001" });
} catch (error) {
  if (!(error instanceof ResponseError)) throw error;
  code = (await error.response.json()).code;
}
console.log(me.name !== "", override.version, leaf.value, leaf.source.scope.level, heartbeat.healthStatus, code);
