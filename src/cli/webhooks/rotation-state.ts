import type { OldSecretState } from "../../management/old-secret-watch.js";
import { UsageError } from "../exit.js";
import { readIfThere, writePrivateFile } from "./private-file.js";

/** What is remembered of a rotation between two runs. It holds no secret. */
export interface RotationState {
  readonly version: 1;
  /** The receiver's URL. */
  readonly url: string;
  /** When the gateway had the new secret, in Unix milliseconds. */
  readonly switchedAtMs: number;
  readonly watch?: OldSecretState;
  /** When the old secret had been quiet for long enough. */
  readonly finishedAtMs?: number;
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
  let state: Partial<RotationState> | undefined;
  try {
    state = JSON.parse(text) as RotationState;
  } catch {
    // Refused below.
  }
  if (state?.version !== 1 || typeof state.switchedAtMs !== "number") {
    throw new UsageError(
      "--next-file: the state beside it cannot be read; delete it to prove and switch once more",
    );
  }
  if (state.url !== url) {
    throw new UsageError("--next-file: it belongs to the rotation of another URL");
  }
  if (state.finishedAtMs !== undefined) {
    throw new UsageError("--next-file: this rotation is finished; pass another file for the next");
  }
  return state as RotationState;
}

/** Remembers the state. */
export async function writeRotation(nextFile: string, state: RotationState): Promise<void> {
  const text = `${JSON.stringify(state, null, 2)}\n`;
  await writePrivateFile("next-file", stateFileOf(nextFile), text);
}
