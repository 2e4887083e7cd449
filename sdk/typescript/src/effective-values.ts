// Effective values that stay current while a program runs, and remain while the control plane is away.
// It decides as sdk/effective_values.py and cpctl/portable/effective_stream.py do.
import type { Client } from "./generated/client/index.js";
import { overridesEffectiveSnapshot } from "./generated/index.js";
import { linesOf, ProblemError, sleep, told } from "./session.js";
import { readSnapshot, Snapshot, SnapshotRefused, type Attributes, type ScopeNames } from "./snapshots.js";

const HOUR_MS = 3_600_000;
const BASE_MS = 250;
const LONGEST_MS = 30_000;
// The server sends bookmarks more often than this: a longer silence means a dead connection.
const SILENCE_MS = 30_000;

// Where a snapshot is kept between two runs of a program.
export interface Store {
  read(): Promise<string | null>;
  write(text: string): Promise<void>;
}

export interface Wanted {
  client: Client;
  scopes: ScopeNames[];
  // Public keys as PEM; null: any snapshot is taken, also an unsigned one.
  keys: readonly string[] | null;
  // For this set of scopes alone. Without one, a program that starts while the control plane is away fails.
  store?: Store;
  resourceType?: string;
  maxAgeMs?: number;
  validSeconds?: number;
  // Hears why the control plane seems to be away.
  onTrouble?: (error: unknown) => void;
}

// A file, which is replaced at once, so that nobody reads half of it. Needs Node.
export function fileStore(path: string): Store {
  return {
    async read() {
      const { readFile } = await import("node:fs/promises");
      return readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT") return null;
        throw error;
      });
    },
    async write(text) {
      const { rename, writeFile } = await import("node:fs/promises");
      const part = `${path}.${crypto.randomUUID()}.part`;
      await writeFile(part, text, { flush: true, mode: 0o600 } as Parameters<typeof writeFile>[2]);
      await rename(part, path);
    },
  };
}

// The effective values of some scopes, kept current in the background: EffectiveValues.open({ … }).
export class EffectiveValues {
  private current: Snapshot;
  private confirmedAt: number;
  private live = false;
  private changed = 0;
  private failure: unknown = null;
  private waiting: Array<() => void> = [];
  private readonly stop = new AbortController();
  private following: Promise<void> = Promise.resolve();

  private constructor(
    private readonly wanted: Wanted,
    first: Snapshot,
  ) {
    this.current = first;
    this.confirmedAt = first.isLive ? Date.now() : first.createdAt.getTime();
  }

  // Begins with a signed snapshot from the server; where it is away, with the one in the store. Throws ProblemError
  // for a refused request, SnapshotRefused, and what kept the answer from coming if there is nothing in the store.
  static async open(wanted: Wanted): Promise<EffectiveValues> {
    const values = new EffectiveValues(wanted, await load(wanted));
    values.following = values.follow();
    return values;
  }

  async close(): Promise<void> {
    this.stop.abort();
    this.wake();
    await this.following;
  }

  // The last snapshot, however old it is.
  get snapshot(): Snapshot {
    return this.current;
  }

  // Whether the control plane confirms the values right now.
  get isLive(): boolean {
    return this.live;
  }

  // How long ago the control plane has confirmed the values.
  ageMs(): number {
    return Date.now() - this.confirmedAt;
  }

  // Throws SnapshotRefused if nobody has confirmed the values for too long.
  effective(scope: ScopeNames, resourceType: string): Attributes {
    const age = this.ageMs();
    if (age > longestAge(this.current, this.wanted.maxAgeMs)) {
      throw new SnapshotRefused(`The values were confirmed ${age} ms ago, which is too long. Is the control plane away?`);
    }
    return this.current.effective(scope, resourceType);
  }

  // The snapshot after each change since the start, until `close`. Quick changes come as one. Throws ProblemError
  // if the server refuses to go on, such as when the permission was revoked.
  async *changes(): AsyncGenerator<Snapshot, void, undefined> {
    for (let number = 0; ; number = this.changed, yield this.current) {
      while (this.changed === number && !this.failure && !this.stop.signal.aborted) {
        await new Promise<void>((resolve) => this.waiting.push(resolve));
      }
      if (this.stop.signal.aborted) return;
      if (this.changed === number) throw this.failure;
    }
  }

  private async follow(): Promise<void> {
    for (let failed = 0; !this.stop.signal.aborted; ) {
      let retryAfter = "";
      try {
        for await (const isBookmark of this.heard()) if (isBookmark) failed = 0;
      } catch (error) {
        if (this.stop.signal.aborted) return;
        if (error instanceof ProblemError && !isAway(error)) return this.end(error);
        if (error instanceof ProblemError) retryAfter = error.retryAfter;
        this.wanted.onTrouble?.(error);
      }
      this.live = false;
      failed += 1;
      await sleep(restMs(failed, Math.random(), retryAfter), this.stop.signal);
    }
  }

  // Whether each event of one connection is a bookmark, after what it says was done.
  private async *heard(): AsyncGenerator<boolean> {
    const { client } = this.wanted;
    // The generated function of a stream hides refusals, and tries for ever.
    const stream: unknown = await told(
      client.post({
        url: "/api/v1/overrides/effective:stream",
        security: [{ scheme: "bearer", type: "http" }],
        headers: { Accept: "text/event-stream", "Content-Type": "application/json" },
        body: body(this.wanted),
        parseAs: "stream",
        signal: this.stop.signal,
      }),
    );
    let differs = false;
    for await (const [name, data] of events(linesOf(stream as ReadableStream<BufferSource>, SILENCE_MS))) {
      if (name === "effective") differs ||= this.current.etag(data.scope) !== data.etag;
      if (name === "bookmark") {
        await this.confirm(differs);
        differs = false;
      }
      yield name === "bookmark";
    }
  }

  private async confirm(differs: boolean): Promise<void> {
    this.live = true;
    if (!differs) this.confirmedAt = Date.now();
    const longest = longestAge(this.current, this.wanted.maxAgeMs);
    if (!differs && this.current.ageMs() <= Math.min(HOUR_MS, longest / 4)) return;
    const before = this.current.etags();
    this.current = await fetched(this.wanted);
    this.confirmedAt = Date.now();
    if (this.current.etags() !== before) {
      this.changed += 1;
      this.wake();
    }
  }

  private end(error: unknown): void {
    this.live = false;
    this.failure = error;
    this.wake();
  }

  private wake(): void {
    for (const resolve of this.waiting.splice(0)) resolve();
  }
}

async function load(wanted: Wanted): Promise<Snapshot> {
  try {
    return await fetched(wanted);
  } catch (error) {
    const kept = isAway(error) ? await wanted.store?.read() : null;
    if (!kept) throw error;
    wanted.onTrouble?.(error);
    return readSnapshot(kept, reading(wanted, false));
  }
}

// Fetches, verifies and keeps a snapshot.
async function fetched(wanted: Wanted): Promise<Snapshot> {
  const { client, validSeconds } = wanted;
  const more = validSeconds === undefined ? {} : { valid_seconds: validSeconds };
  const envelope: unknown = await told(overridesEffectiveSnapshot({ client, body: { ...body(wanted), ...more } }));
  const text = JSON.stringify(envelope);
  const snapshot = await readSnapshot(text, reading(wanted, true));
  // What cannot be kept is still good for this run.
  await wanted.store?.write(text).catch((error: unknown) => wanted.onTrouble?.(error));
  return snapshot;
}

function body({ scopes, resourceType = "" }: Wanted): { scopes: ScopeNames[]; resource_type: string } {
  return { scopes, resource_type: resourceType };
}

function reading({ keys, maxAgeMs }: Wanted, isLive: boolean): { keys: readonly string[] | null; maxAgeMs?: number; isLive: boolean } {
  return maxAgeMs === undefined ? { keys, isLive } : { keys, maxAgeMs, isLive };
}

// It cannot answer, rather than refuses to.
function isAway(error: unknown): boolean {
  if (error instanceof SnapshotRefused) return false;
  return !(error instanceof ProblemError) || error.status >= 500 || error.status === 429;
}

function longestAge(snapshot: Snapshot, maxAgeMs: number | undefined): number {
  return maxAgeMs ?? snapshot.expiresAt.getTime() - snapshot.createdAt.getTime();
}

export function restMs(failed: number, luck: number, retryAfter = ""): number {
  const asked = /^\d+$/.test(retryAfter) ? Number(retryAfter) * 1000 : 0;
  const rest = BASE_MS + luck * Math.min(LONGEST_MS, BASE_MS * 2 ** Math.min(failed, 10));
  return Math.max(rest, Math.min(asked, LONGEST_MS));
}

type Heard = { scope: ScopeNames; etag: string };

// Server-sent events as [name, data]. Half an event is none.
async function* events(source: AsyncIterable<string>): AsyncGenerator<[string, Heard]> {
  let fields: Record<string, string> = {};
  for await (const line of source) {
    if (line) {
      const colon = line.indexOf(":");
      fields[line.slice(0, colon)] = line.slice(colon + 1).replace(/^ /, "");
      continue;
    }
    if (fields["event"] && fields["data"]) yield [fields["event"], JSON.parse(fields["data"])];
    fields = {};
  }
}
