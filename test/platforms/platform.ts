import type { WebhookTarget } from "../../kit/index.js";

/** One row of the table that `npm run platforms` prints. */
export interface Platform {
  /** As the table has it: "Fastify 5". */
  readonly name: string;
  /**
   * The folder under `test/platforms/` that it runs in. Its packages of `packages.json` are installed there before the
   * start, and its files are written there. `--only` takes this name.
   */
  readonly folder: string;
  /** Folders whose packages it also runs with, as Elysia on Bun needs `bun`. */
  readonly needs?: readonly string[];
  /** The version that is installed, read after the installation. */
  readonly version: () => string;
  /** The text of the file that a partner would write. Its lines of code are the glue lines. */
  readonly code: string;
  /** The text of each file of the folder, by its path. */
  readonly files?: Readonly<Record<string, string>>;
  /** What a reader of the table must know. */
  readonly remark?: string;
  /** Requests that the platform answers itself, by the id of the conformance case, and why. */
  readonly ownAnswers?: Readonly<Record<string, string>>;
  /**
   * Its handlers do not write to the ledger, and its answers do not wait for them: cases that need either are not
   * judged.
   */
  readonly isSeenFromOutside?: boolean;
  /** Starts the platform with a receiver whose handlers write to the ledger at `ledgerUrl`. */
  readonly start: (ledgerUrl: string) => Promise<RunningPlatform>;
}

/** A platform that is ready for requests. */
export interface RunningPlatform {
  /** A URL, or a function for a platform that is called with events and not over HTTP. */
  readonly target: WebhookTarget;
  readonly stop: () => Promise<void>;
}

/** What became of one row. */
export interface PlatformResult {
  readonly platform: Platform;
  /** Empty if the platform is not installed. */
  readonly version: string;
  readonly glueLines: number;
  readonly passed: number;
  readonly failed: number;
  readonly notJudged: number;
  /** Why the row does not count as passed. Empty if it does. */
  readonly complaints: readonly string[];
  readonly seconds: number;
}
