// Signed snapshots of effective values: DSSE envelopes. It decides as cpctl/portable/snapshots.py does.
const PAYLOAD_TYPE = "application/vnd.controlplane.effective-snapshot+json";
const SEGMENTS = ["project", "domain", "workflow", "launch_plan"] as const;
// A snapshot from the future means that one of the two clocks is wrong.
const CLOCK_SKEW_MS = 5 * 60_000;

export type ScopeNames = Partial<Record<(typeof SEGMENTS)[number], string>>;
export type Attributes = Record<string, unknown>;
interface Item {
  scope: ScopeNames;
  items: Array<{ resource_type: string; attributes: Attributes }>;
  etag: string;
}

// A snapshot that must not be used: what is wrong, and what to do.
export class SnapshotRefused extends Error {
  override readonly name = "SnapshotRefused";
}

// The effective values of a set of scopes at one revision. isLive: fetched just now, not read from a store.
export class Snapshot {
  constructor(
    readonly createdAt: Date,
    readonly expiresAt: Date,
    readonly revision: number,
    readonly resourceType: string,
    private readonly items: ReadonlyMap<string, Item>,
    readonly isLive: boolean,
  ) {}

  ageMs(now = Date.now()): number {
    return now - this.createdAt.getTime();
  }

  // As streams have it; empty for a scope that the snapshot does not have.
  etag(scope: ScopeNames): string {
    return this.items.get(place(scope))?.etag ?? "";
  }

  // All ETags, to compare two snapshots.
  etags(): string {
    return JSON.stringify([...this.items].map(([at, item]) => [at, item.etag]).sort());
  }

  // The attributes of a type at a scope; empty where nothing is set on its ladder.
  effective(scope: ScopeNames, resourceType: string): Attributes {
    if (this.resourceType && this.resourceType !== resourceType) {
      throw new RangeError(`The snapshot has only ${this.resourceType}. Fetch one with ${resourceType}.`);
    }
    const item = this.items.get(place(scope));
    if (!item) throw new RangeError(`The snapshot has no scope ${named(scope)}. Fetch one with it.`);
    return item.items.find((each) => each.resource_type === resourceType)?.attributes ?? {};
  }
}

export interface Reading {
  // Public keys as PEM; null: any snapshot is taken, also an unsigned one.
  keys: readonly string[] | null;
  // Without it, as old as the snapshot itself allows.
  maxAgeMs?: number;
  isLive?: boolean;
  now?: number;
}

// The snapshot in an envelope, if one of the keys has signed it and it is young enough. Throws SnapshotRefused.
export async function readSnapshot(text: string, how: Reading): Promise<Snapshot> {
  const [payload, signatures] = opened(text);
  if (how.keys && !(await isSigned(payload, signatures, how.keys))) {
    throw new SnapshotRefused(
      "None of the given keys has signed the snapshot. Check that they are the public keys of this installation, " +
        "and fetch the snapshot again.",
    );
  }
  const snapshot = parsed(payload, how.isLive ?? false);
  checkAge(snapshot, how.maxAgeMs, how.now ?? Date.now());
  return snapshot;
}

function opened(text: string): [Uint8Array<ArrayBuffer>, Map<string, Uint8Array<ArrayBuffer>>] {
  try {
    const envelope = JSON.parse(text);
    if (envelope.payloadType !== PAYLOAD_TYPE) throw new TypeError(String(envelope.payloadType));
    const signatures = envelope.signatures as Array<{ keyid: string; sig: string }>;
    return [decoded(envelope.payload), new Map(signatures.map((each) => [each.keyid, decoded(each.sig)]))];
  } catch (error) {
    throw new SnapshotRefused("This is not a snapshot of effective values. Fetch it again.", { cause: error });
  }
}

async function isSigned(
  payload: Uint8Array<ArrayBuffer>,
  signatures: ReadonlyMap<string, Uint8Array<ArrayBuffer>>,
  keys: readonly string[],
): Promise<boolean> {
  const signed = signedBytes(payload);
  for (const pem of keys) {
    const { key, id } = await publicKey(pem);
    const signature = signatures.get(id);
    if (signature && (await crypto.subtle.verify("Ed25519", key, signature, signed))) return true;
  }
  return false;
}

async function publicKey(pem: string): Promise<{ key: CryptoKey; id: string }> {
  try {
    const der = decoded(pem.replace(/-----(BEGIN|END) PUBLIC KEY-----/g, "").replace(/\s/g, ""));
    const key = await crypto.subtle.importKey("spki", der, "Ed25519", true, ["verify"]);
    const raw = await crypto.subtle.exportKey("raw", key);
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", raw));
    const hex = [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    return { key, id: `k${hex.slice(0, 16)}` };
  } catch (error) {
    throw new SnapshotRefused("One of the given keys is no Ed25519 public key (PEM).", { cause: error });
  }
}

// DSSE's pre-authentication encoding.
function signedBytes(payload: Uint8Array): Uint8Array<ArrayBuffer> {
  const head = new TextEncoder().encode(`DSSEv1 ${PAYLOAD_TYPE.length} ${PAYLOAD_TYPE} ${payload.length} `);
  const all = new Uint8Array(head.length + payload.length);
  all.set(head);
  all.set(payload, head.length);
  return all;
}

function parsed(payload: Uint8Array, isLive: boolean): Snapshot {
  try {
    const content = JSON.parse(new TextDecoder().decode(payload));
    const items = new Map((content.items as Item[]).map((item) => [place(item.scope), item]));
    const [created, expires] = [new Date(content.created_at), new Date(content.expires_at)];
    if (!Number.isInteger(content.revision) || isNaN(created.getTime()) || isNaN(expires.getTime())) throw new TypeError();
    return new Snapshot(created, expires, content.revision, String(content.resource_type), items, isLive);
  } catch (error) {
    throw new SnapshotRefused("The snapshot has another form than this program reads.", { cause: error });
  }
}

function checkAge(snapshot: Snapshot, maxAgeMs: number | undefined, now: number): void {
  const age = snapshot.ageMs(now);
  if (age < -CLOCK_SKEW_MS) throw new SnapshotRefused("The snapshot is from the future. Check the clock of this machine.");
  if (maxAgeMs !== undefined && age > maxAgeMs) {
    throw new SnapshotRefused(`The snapshot is ${age} ms old; at most ${maxAgeMs} is allowed. Fetch it again.`);
  }
  if (maxAgeMs === undefined && now > snapshot.expiresAt.getTime()) {
    const when = snapshot.expiresAt.toISOString();
    throw new SnapshotRefused(`The snapshot expired at ${when}. Fetch it again, or choose a maximum age.`);
  }
}

function decoded(base64: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
}

function place(scope: ScopeNames): string {
  return JSON.stringify(SEGMENTS.map((name) => scope[name] ?? ""));
}

function named(scope: ScopeNames): string {
  return SEGMENTS.filter((name) => scope[name]).map((name) => `${name}=${scope[name]}`).join(" ") || "global";
}
