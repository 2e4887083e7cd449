// Follows effective values, and prints each thing that happens as a line of JSON.
import { readFile } from "node:fs/promises";
import { connect, EffectiveValues, fileStore, ProblemError } from "../index.js";

const scope = { project: "flytesnacks", domain: "staging" };
const type = "quality_of_service_specification";
const client = connect({ url: process.env["CP_URL"] ?? "", token: process.env["CP_TOKEN"] ?? "" });

function say(...words: unknown[]): void {
  console.log(JSON.stringify(words).replaceAll(":", ": ").replaceAll(",", ", "));
}

async function open(): Promise<EffectiveValues> {
  const keys = [await readFile("public.pem", "utf8")];
  return EffectiveValues.open({ client, scopes: [scope], keys, store: fileStore("values.json"), resourceType: type });
}

try {
  const values = await open();
  say("open", values.effective(scope, type));
  let live = false;
  const clock = setInterval(() => {
    if (values.isLive !== live) say("live", (live = values.isLive));
  }, 20);
  try {
    for await (const snapshot of values.changes()) say("changed", snapshot.effective(scope, type));
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    say("refused", error.status);
  }
  clearInterval(clock);
  await values.close();
} catch (error) {
  say("failed", (error as Error).name);
}
