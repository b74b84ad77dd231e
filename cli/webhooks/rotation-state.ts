import { createHash } from "node:crypto";
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
  /** When the gateway had the new secret, in Unix milliseconds. */
  readonly switchedAtMs: number;
  readonly watch?: WatchState;
  /** When the old secret had been quiet for long enough. */
  readonly finishedAtMs?: number;
}

/** The state of a rotation that has just given webhooks the new secret. */
export function switchedState(
  url: string,
  secret: string,
  webhookIds: readonly string[],
): RotationState {
  return { version: 1, url, secretHash: hashOf(secret), webhookIds, switchedAtMs: Date.now() };
}

/** Whether the state says that all these webhooks have this secret. */
export function isSwitched(
  { secretHash, webhookIds }: Partial<RotationState>,
  secret: string,
  ids: readonly string[],
): boolean {
  return (
    secretHash === hashOf(secret) &&
    Array.isArray(webhookIds) &&
    ids.length > 0 &&
    ids.every((id) => webhookIds.includes(id))
  );
}

function hashOf(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}

/** The file beside the new secret that holds the state. */
function stateFileOf(nextFile: string): string {
  return `${nextFile}.state.json`;
}

/** The state of a rotation to `url`; undefined before the gateway has the new secret. Throws `UsageError`. */
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
  return state as RotationState;
}

/** Remembers the state. */
export async function writeRotation(nextFile: string, state: RotationState): Promise<void> {
  const text = `${JSON.stringify(state, null, 2)}\n`;
  await writePrivateFile("next-file", stateFileOf(nextFile), text);
}
