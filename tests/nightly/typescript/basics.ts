// A user of the client: pages, typed errors, a change over what was seen, a watch, tries.
import {
  agentsGet, agentsList, connect, every, overridesEffective, overridesGet, overridesPut, ProblemError, projectsCreate, projectsList,
  told, updateWithEtag, watch,
} from "../index.js";

const url = process.env["CP_URL"] ?? "";
const token = process.env["CP_TOKEN"] ?? "";
const client = connect({ url, token });
const found: Record<string, unknown> = {};

const names: string[] = [];
for await (const project of every((page) => projectsList({ client, query: { limit: 2, ...page } }))) names.push(project.id);
found["names"] = names;

try {
  await told(agentsGet({ client, path: { agent_id: "019a9f5e-7c00-7000-8000-000000000001" } }));
} catch (error) {
  if (error instanceof ProblemError) found["missing"] = [error.status, error.code, error.requestId !== ""];
}
const missing = await agentsGet({ client, path: { agent_id: "019a9f5e-7c00-7000-8000-000000000001" } });
found["typed"] = missing.error?.code;
// Never called: none of this compiles, and the compiler complains if it does.
export async function wrong(): Promise<void> {
  // @ts-expect-error A name is no number.
  const page = await told(agentsList({ client, query: { environment: 7 } }));
  // @ts-expect-error An agent has no such thing.
  page.items[0]?.nonsense;
  // @ts-expect-error Neither has a problem document.
  missing.error?.nonsense;
}

const path = { resource_type: "workflow_execution_config" };
const query = { project: "p0" };
const put = (most: number, headers: Record<string, string>) =>
  overridesPut({ client, path, query, body: { attributes: { max_parallelism: most } }, headers });
await told(put(7, { "If-None-Match": "*" }));
const etags: string[] = [];
const done = await updateWithEtag(
  () => overridesGet({ client, path, query }),
  async (seen, etag) => {
    etags.push(etag);
    if (etags.length === 1) await told(put(8, { "If-Match": etag }));
    return put(Number(seen.attributes["max_parallelism"]) + 1, { "If-Match": etag });
  },
);
found["etags"] = etags;
found["attributes"] = done.attributes;
const effective = await told(overridesEffective({ client, query }));
found["leaf"] = effective.items[0]?.leaves[0]?.value;

const stop = new AbortController();
const seen: string[] = [];
for await (const event of watch({ client, after: 0, object_type: "project", signal: stop.signal })) {
  seen.push(event.object_id);
  if (seen.length === names.length) break;
}
found["seen"] = seen;

// The connection fails once, the server is busy once, and the token is old once.
const keys = new Set<string | null>();
const tokens: string[] = [];
let tried = 0;
const troubled = connect({
  url,
  token: () => (tried < 3 ? "cp_pat_old" : token),
  send: async (request) => {
    tried += 1;
    keys.add(request.headers.get("Idempotency-Key"));
    tokens.push(request.headers.get("Authorization") ?? "");
    if (tried === 1) throw new TypeError("the connection broke");
    if (tried === 2) return new Response(null, { status: 503, headers: { "Retry-After": "0" } });
    return fetch(request);
  },
});
const made = await told(projectsCreate({ client: troubled, body: { id: "late" } }));
found["made"] = [made.id, tried, keys.size, new Set(tokens).size];

// A body that never ends is given up in time, and one that breaks off is asked for again.
let asked = 0;
const agents = new Set<string | null>();
const body = (text: string, end: (stream: ReadableStreamDefaultController) => void) =>
  new ReadableStream({
    start(stream) {
      stream.enqueue(new TextEncoder().encode(text));
      end(stream);
    },
  });
const json = { headers: { "Content-Type": "application/json" } };
const bodies = [
  () => new Response(body('{"items"', () => undefined), json),
  () => new Response(body('{"items"', (stream) => stream.error(new TypeError("the connection broke"))), json),
  // A state that only a newer server knows.
  () => new Response('{"items": [{"name": "a", "health_status": "of-tomorrow"}], "next_cursor": null}', json),
];
const slow = connect({
  url,
  token,
  timeoutMs: 200,
  send: async (request) => {
    agents.add(request.headers.get("User-Agent"));
    return bodies[asked++]!();
  },
});
const fromTomorrow = await told(agentsList({ client: slow }));
found["tomorrow"] = [fromTomorrow.items[0]?.health_status, asked, ...agents];

// Events were dropped: the watch continues with the oldest kept event and reports the gap.
const gap = { code: "events_gone", oldest_seq: 8 };
const streams = [
  () => new Response(JSON.stringify(gap), { status: 410, headers: { "Content-Type": "application/problem+json" } }),
  () => new Response('id: 8\nevent: x\ndata: {"seq": 8}\n\n', { headers: { "Content-Type": "text/event-stream" } }),
];
const paths: string[] = [];
const gone = connect({
  url,
  token,
  send: async (request) => {
    paths.push(new URL(request.url).searchParams.get("after") ?? "");
    return streams[paths.length - 1]!();
  },
});
for await (const event of watch({ client: gone, after: 2, onGap: (oldest) => (found["gap"] = oldest) })) {
  found["afterGap"] = [event.seq, ...paths];
  break;
}
console.log(JSON.stringify(found));
