// A team brings its settings over from flytectl files; then an agent joins, falls silent, and returns.
import {
  agentsGet, agentsHeartbeat, agentsJoin, connect, joinTokensCreate, overridesEffective, overridesImport,
  overridesRollbackScope, told, watch,
} from "../index.js";

const url = process.env["CP_URL"] ?? "";
const client = connect({ url, token: process.env["CP_TOKEN"] ?? "" });
const found: Record<string, unknown> = {};

const body = {
  flytectl_files: { "tra.yaml": 'project: shop\ndomain: production\ndefaults:\n  cpu: "2"\n' },
  manager: "git",
  create_projects: true,
};
const planned = await told(overridesImport({ client, body, query: { dry_run: true } }));
found["reviewed"] = planned.plan.changes.map((one) => [one.change, one.differences.map((it) => it.leaf)]);
const applied = await told(overridesImport({ client, body }));

const query = { project: "shop", domain: "production", workflow: "train", resource_type: "task_resource" };
const ladder = async () => {
  const { items } = await told(overridesEffective({ client, query }));
  const leaf = items.flatMap((one) => one.leaves).find((one) => one.pointer === "/defaults/cpu");
  return [leaf?.value, leaf?.source.scope?.level];
};
found["ladder"] = await ladder();
const before = Number(applied.plan.revision) - 1;
const back = { to_revision: before };
await told(overridesRollbackScope({ client, body: back, query: { project: "shop", managed_by: "git" } }));
found["rolledBack"] = await ladder();

const secret = await told(joinTokensCreate({ client, body: { name: "eu", name_pattern: "eu-*" } }));
const guest = connect({ url, token: secret.token ?? "" });
const joined = await told(agentsJoin({
  client: guest,
  body: { name: "eu-1", environment: "prod", service_types: ["vm"], cost: "low", topic_name: "dcm.agent.eu-1" },
}));
const agent_id = joined.agent.agent_id;
const state = async () => (await told(agentsGet({ client, path: { agent_id } }))).health_status;
const states = [await state()];
for await (const event of watch({ client, after: 0, object_type: "agent", object_id: agent_id })) {
  if (event.type === "agent.unavailable") break;
}
states.push(await state());
const own = connect({ url, token: joined.token ?? "" });
await told(agentsHeartbeat({ client: own, path: { agent_id }, body: { timestamp: new Date().toISOString(), consumer_lag: 0 } }));
states.push(await state());
found["states"] = states;
console.log(JSON.stringify(found));
