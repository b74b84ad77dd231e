import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import type { Webhook } from "../../src/management/webhook.js";
import { jsonOf } from "../../kit/json-parts.js";
import { UsageError } from "../exit.js";
import type { WatchState } from "./old-secret.js";
import { readIfThere, writePrivateFile } from "./private-file.js";

/** What is remembered of a rotation between two runs. It holds no secret. */
export interface RotationState {
  readonly version: 1;
  /** The receiver's URL. */
  readonly url: string;
  /** SHA-256 of the new secret, in hexadecimal digits. */
  readonly secretHash: string;
  /** The webhooks that have the new secret. */
  readonly webhookIds: readonly string[];
  /** The gateway's `updated_at` of each of them after that, if it shows one. */
  readonly updatedAt?: Readonly<Record<string, string>>;
  /** When the gateway had the new secret, in Unix milliseconds. */
  readonly switchedAtMs: number;
  readonly watch?: WatchState;
}

/** The state of a rotation that has just given webhooks the new secret. */
export function switchedState(
  url: string,
  secret: string,
  webhooks: readonly Webhook[],
): RotationState {
  const entries = webhooks.flatMap((webhook) => {
    const at = updatedAtOf(webhook);
    return at === undefined ? [] : [[webhook.id, at] as const];
  });
  return {
    version: 1,
    url,
    secretHash: hashOf(secret),
    webhookIds: webhooks.map(({ id }) => id),
    updatedAt: Object.fromEntries(entries),
    switchedAtMs: Date.now(),
  };
}

/**
 * What the webhooks, as the gateway lists them now, say of a state.
 * - `switched`: none of them was changed since they got the secret.
 * - `unknown`: the gateway shows no `updated_at`, so they may have been.
 * - `void`: one of them was changed or added, or the state is about another secret.
 */
export function standingOf(
  { secretHash, webhookIds, updatedAt = {} }: Partial<RotationState>,
  secret: string,
  webhooks: readonly Webhook[],
): "switched" | "unknown" | "void" {
  const isAbout = secretHash === hashOf(secret) && webhooks.length > 0;
  if (!isAbout || !webhooks.every(({ id }) => webhookIds?.includes(id))) return "void";
  const pairs = webhooks.map((webhook) => [updatedAt[webhook.id], updatedAtOf(webhook)] as const);
  if (pairs.every(([then, now]) => then !== undefined && then === now)) return "switched";
  const isChanged = pairs.some(([then, now]) => then !== now && (then ?? now) !== undefined);
  return isChanged ? "void" : "unknown";
}

/** The document does not name the field. */
function updatedAtOf({ raw }: Webhook): string | undefined {
  const { updated_at: at } = raw;
  return typeof at === "string" || typeof at === "number" ? String(at) : undefined;
}

function hashOf(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}

const SUFFIX = ".state.json";

/** The file beside the new secret that holds the state. */
function stateFileOf(nextFile: string): string {
  return nextFile + SUFFIX;
}

/**
 * The state of a rotation to `url`; undefined before the gateway has the new secret, and if a later rotation of the URL
 * has its state in the same folder. Throws `UsageError`.
 */
export async function readRotation(
  nextFile: string,
  url: string,
): Promise<RotationState | undefined> {
  const text = await readIfThere("next-file", stateFileOf(nextFile));
  if (text === undefined) return undefined;
  const state = jsonOf(text) as Partial<RotationState> | null | undefined;
  if (state?.version !== 1 || typeof state.switchedAtMs !== "number") {
    throw new UsageError(
      "--next-file: the state beside it cannot be read; delete it to prove and switch once more",
    );
  }
  if (state.url !== url) {
    throw new UsageError("--next-file: it belongs to the rotation of another URL");
  }
  const { switchedAtMs } = state;
  const others = await statesBeside(nextFile);
  const isOver = others.some(
    (other) => other?.url === url && (other.switchedAtMs ?? 0) > switchedAtMs,
  );
  return isOver ? undefined : (state as RotationState);
}

/** All states in the folder. What cannot be read is none. */
async function statesBeside(nextFile: string) {
  const folder = path.dirname(nextFile);
  const names = (await readdir(folder)).filter((name) => name.endsWith(SUFFIX));
  const texts = names.map((name) => readFile(path.join(folder, name), "utf8").catch(() => ""));
  return (await Promise.all(texts)).map((text) => jsonOf(text) as Partial<RotationState> | null);
}

/** Remembers the state. */
export async function writeRotation(nextFile: string, state: RotationState): Promise<void> {
  const text = `${JSON.stringify(state, null, 2)}\n`;
  await writePrivateFile("next-file", stateFileOf(nextFile), text);
}
