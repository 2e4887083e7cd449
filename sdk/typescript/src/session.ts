// What the generated client leaves to its users: tries, keys, pages, changes over what was seen, a watch.
// It decides as cpctl/portable does.
import { createClient, type Client } from "./generated/client/index.js";
import { eventsList, type EventRead, type Problem } from "./generated/index.js";

const TRIES = 5;
const ATTEMPTS = 5;
const BASE_MS = 200;
const LONGEST_MS = 30_000;
// The server sends a bookmark more often than this; silence means a dead connection.
const SILENCE_MS = 90_000;
const STREAM = "text/event-stream";
const AGENT = "controlplane-client-typescript/0.1.0";
// Browsers name themselves; from elsewhere the header would cost them one more request before each.
const BROWSER = "document" in globalThis || "WorkerGlobalScope" in globalThis;

export type Token = string | (() => string | Promise<string>);
export type Send = (request: Request) => Promise<Response>;
export interface Connection {
  url: string;
  // Itself, or what gives one; it is asked again when a token is refused.
  token: Token;
  timeoutMs?: number;
  send?: Send;
}

// A problem document (RFC 9457). Branch on `code`, never on words.
export class ProblemError extends Error {
  override readonly name = "ProblemError";
  readonly code: string;
  readonly requestId: string;

  constructor(
    readonly status: number,
    readonly problem: Partial<Problem>,
    readonly retryAfter: string = "",
  ) {
    super(problem.detail || problem.title || `The server answered ${status}.`);
    this.code = problem.code ?? "";
    this.requestId = problem.request_id ?? "";
  }
}

// A client that tries again and sends keys by itself.
export function connect({ url, token, timeoutMs = 10_000, send = fetch }: Connection): Client {
  const ask = typeof token === "function" ? token : () => token;
  return createClient({
    baseUrl: url,
    // The cookie is for browsers that signed in; a token must not become one.
    auth: (auth) => (auth.scheme === "bearer" ? ask() : undefined),
    fetch: (input, init) => patient(new Request(input, init), { send, timeoutMs, token }),
  });
}

export interface Answer<Data> {
  data?: Data;
  error?: unknown;
  response?: Response;
}

// What an answer says. Throws ProblemError, or what kept the answer from coming.
export async function told<Data>(answering: PromiseLike<Answer<Data>>): Promise<Data> {
  const { data, error, response } = await answering;
  if (response?.ok) return data as Data;
  if (!response) throw error;
  throw new ProblemError(response.status, problemOf(error), response.headers.get("Retry-After") ?? "");
}

export interface Page<Item> {
  items: Array<Item>;
  next_cursor: string | null;
}
export interface Cursor {
  cursor?: string;
}

// Every item of a list: every((page) => agentsList({ client, query: { environment: "prod", ...page } })).
export async function* every<Item>(
  list: (page: Cursor) => PromiseLike<Answer<Page<Item>>>,
): AsyncGenerator<Item, void, undefined> {
  let page: Cursor = {};
  do {
    const { items, next_cursor: cursor } = await told(list(page));
    yield* items;
    page = cursor ? { cursor } : {};
  } while (page.cursor);
}

// Change what stands. Both are called again when somebody came between.
export async function updateWithEtag<Seen, Done>(
  read: () => PromiseLike<Answer<Seen>>,
  write: (seen: Seen, etag: string) => PromiseLike<Answer<Done>>,
): Promise<Done> {
  for (let met = 1; ; met += 1) {
    const answer = await read();
    const seen = await told(Promise.resolve(answer));
    try {
      return await told(write(seen, answer.response?.headers.get("ETag") ?? ""));
    } catch (error) {
      if (met >= ATTEMPTS || !(error instanceof ProblemError && error.status === 412)) throw error;
    }
  }
}

export interface Watched {
  client: Client;
  // The last number that you have; without one, from now on.
  after?: number;
  type?: string;
  object_type?: string;
  object_id?: string;
  signal?: AbortSignal;
  // Called with the number of the oldest kept event when events before it were dropped, to read the resources again.
  // The watch then goes on with that event. Without it, ProblemError is thrown.
  onGap?: (oldest: number) => unknown;
}

// Events as they happen, for ever. Goes on where it broke, and misses nothing.
export async function* watch({ client, after, signal, onGap, ...only }: Watched): AsyncGenerator<EventRead, void, undefined> {
  let seq = after ?? (await lastSeq(client));
  for (let failed = 0; !signal?.aborted; ) {
    try {
      for await (const [number, event] of parse(lines(client, { ...only, after: seq }, signal))) {
        failed = 0;
        seq = number;
        if (event) yield event;
      }
    } catch (error) {
      if (signal?.aborted) return;
      failed += 1;
      const oldest = error instanceof ProblemError ? (error.problem as { oldest_seq?: unknown }).oldest_seq : null;
      if (onGap && typeof oldest === "number") {
        await onGap(oldest);
        seq = oldest - 1;
        continue;
      }
      const status = error instanceof ProblemError ? error.status : 0;
      const retryAfter = error instanceof ProblemError ? error.retryAfter : "";
      const wait = pause(failed, status, true, retryAfter);
      if (wait === null) throw error;
      await sleep(wait);
    }
  }
}

// Milliseconds until the next try; null: do not try again. Status 0: the connection failed.
export function pause(tried: number, status: number, again: boolean, retryAfter: string, luck = Math.random()): number | null {
  // 429 and 503: nothing was done. 502 and 504: what was sent may have happened.
  const passing = status === 429 || status === 503;
  const lost = status === 0 || status === 502 || status === 504;
  if (tried >= TRIES || !(passing || (again && lost))) return null;
  if (/^\d+$/.test(retryAfter)) {
    const said = Number(retryAfter) * 1000;
    return said <= LONGEST_MS ? said + luck * BASE_MS : null;
  }
  return luck * Math.min(LONGEST_MS, BASE_MS * 2 ** tried);
}

async function patient(request: Request, how: { send: Send; timeoutMs: number; token: Token }): Promise<Response> {
  if (request.method === "POST" && !request.headers.has("Idempotency-Key")) {
    request.headers.set("Idempotency-Key", crypto.randomUUID());
  }
  if (!BROWSER && !request.headers.has("User-Agent")) request.headers.set("User-Agent", AGENT);
  const again = request.method === "GET" || request.method === "POST";
  let renewed = typeof how.token === "string";
  for (let tried = 1; ; tried += 1) {
    const [answer, failed] = await once(request, how);
    if (answer?.status === 401 && !renewed && typeof how.token === "function") {
      renewed = true;
      request.headers.set("Authorization", `Bearer ${await how.token()}`);
      continue;
    }
    const wait = request.signal.aborted
      ? null
      : pause(tried, answer?.status ?? 0, again, answer?.headers.get("Retry-After") ?? "");
    if (wait === null) {
      if (answer) return answer;
      throw failed;
    }
    await answer?.body?.cancel();
    await sleep(wait);
  }
}

// The answer, in time and whole; of a stream only its beginning.
async function once(request: Request, how: { send: Send; timeoutMs: number }): Promise<[Response | null, unknown]> {
  const streams = request.headers.get("Accept") === STREAM;
  const limit = streams ? SILENCE_MS : how.timeoutMs;
  const timer = new AbortController();
  const clock = setTimeout(() => timer.abort(new Error(`no answer in ${limit} ms`)), limit);
  try {
    const signal = AbortSignal.any([request.signal, timer.signal]);
    const answer = await how.send(new Request(request.clone(), { signal }));
    return [streams ? answer : await whole(answer, signal), null];
  } catch (error) {
    return [null, error];
  } finally {
    clearTimeout(clock);
  }
}

async function whole(answer: Response, signal: AbortSignal): Promise<Response> {
  // Statuses such as 204 allow no body, not even an empty one.
  if (!answer.body) return answer;
  signal.throwIfAborted();
  const late = new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
  return new Response(await Promise.race([answer.arrayBuffer(), late]), answer);
}

async function lastSeq(client: Client): Promise<number> {
  // Nothing is about such an object: the answer is short, and tells how far the log goes.
  return (await told(eventsList({ client, query: { limit: 1, object_type: "none" } }))).next_after;
}

type Question = NonNullable<NonNullable<Parameters<typeof eventsList>[0]>["query"]>;

async function* lines(client: Client, query: Question, signal?: AbortSignal): AsyncGenerator<string> {
  const headers = { Accept: STREAM } as Record<string, string>;
  const body: unknown = await told(eventsList({ client, query, headers, parseAs: "stream", signal: signal ?? null }));
  yield* linesOf(body as ReadableStream<BufferSource>);
}

// The lines of a stream. Throws when it falls silent.
export async function* linesOf(body: ReadableStream<BufferSource>, silenceMs = SILENCE_MS): AsyncGenerator<string> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await inTime(reader.read(), silenceMs);
      if (done) return;
      const found = (rest + value).split(/\r?\n/);
      rest = found.pop() ?? "";
      yield* found;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

// Server-sent events as [number, event]; the event of a bookmark is null. Half an event is none.
export async function* parse(source: AsyncIterable<string>): AsyncGenerator<[number, EventRead | null]> {
  let said: Record<string, string> = {};
  for await (const line of source) {
    if (line) {
      const colon = line.indexOf(":");
      said[line.slice(0, colon)] = line.slice(colon + 1).replace(/^ /, "");
      continue;
    }
    if (/^\d+$/.test(said["id"] ?? "")) {
      yield [Number(said["id"]), said["event"] === "bookmark" ? null : JSON.parse(said["data"] ?? "null")];
    }
    said = {};
  }
}

function problemOf(error: unknown): Partial<Problem> {
  return typeof error === "object" && error !== null ? error : {};
}

async function inTime<Value>(reading: Promise<Value>, silenceMs: number): Promise<Value> {
  let clock: ReturnType<typeof setTimeout> | undefined;
  const silence = new Promise<never>((_, reject) => {
    clock = setTimeout(() => reject(new Error("the stream fell silent")), silenceMs);
  });
  try {
    return await Promise.race([reading, silence]);
  } finally {
    clearTimeout(clock);
  }
}

// Ends early when the signal does.
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const clock = setTimeout(done, ms);
    signal?.addEventListener("abort", done, { once: true });
    function done(): void {
      clearTimeout(clock);
      signal?.removeEventListener("abort", done);
      resolve();
    }
  });
}
