import type { AuthenticDelivery } from "../../src/answer/observers.js";
import { checkHooks, checkOption } from "../option-checks.js";
import { ignoreFailure } from "../../src/common/promises.js";
import { ownOptions } from "../../src/common/option-checks.js";
import { keyOf } from "../../src/signature/secrets.js";
import { formatFixture } from "../fixtures/fixture.js";
import { TEST_SECRET } from "../signed-delivery.js";
import { captureDelivery, recordedType, type CapturedDelivery } from "./captured-delivery.js";
import { createFixtureFolder } from "./fixture-folder.js";
import { type FixtureRefusal, createRefusalWarning } from "./fixture-refusal.js";
import { createRecordedFixture } from "./recorded-fixture.js";
import { checkRedactionRules, type RedactionRules } from "./redaction-rules.js";

/**
 * Options of `recordFixtures`.
 *
 * @experimental
 */
export interface RecordFixturesOptions {
  /** Path of the folder for the files. It is created with the first file. */
  readonly directory: string;
  /** What to keep beyond the documented fields. Default: nothing. */
  readonly redact?: RedactionRules | undefined;
  /** Called for each delivery that is not recorded. Default: one `console.warn` for each reason. */
  readonly onRefused?: ((refusal: FixtureRefusal) => unknown) | undefined;
  /** Called with the path of each written file. */
  readonly onRecorded?: ((file: string) => unknown) | undefined;
  /** Secret that signs the fixtures. Default: the published test secret. Never pass a real one. */
  readonly secret?: string | undefined;
}

/**
 * An observer for the receiver's option `onAuthenticDelivery`.
 *
 * @experimental
 */
export interface FixtureRecorder {
  /** Copies the delivery and returns. The file is written later. Never throws. */
  (delivery: AuthenticDelivery): void;
  /** Resolves when every delivery so far is written or refused. Never rejects. */
  readonly flush: () => Promise<void>;
}

/** Limits of the deliveries that wait to be written. */
const BOUNDS = { maxJobs: 10_000, maxBytes: 67_108_864 };
const OPTIONS = ["directory", "redact", "onRefused", "onRecorded", "secret"];

/**
 * Records each authentic delivery as a fixture file (fixtures/README.md). A file keeps only what is known to be
 * harmless:
 *
 * - Documented enum values, gateway dates in documented date fields, the header timestamp, `null`, white
 *   space, escapes and the order of keys stay. All other values are replaced: texts by as many `x` (outside ASCII
 *   by symbols of as many bytes), numbers and digit strings by as many nines, booleans by `false`, dates by one
 *   fixed day in the same format. The JSON inside a payload is redacted in the same way. Equal texts and numbers stay
 *   equal, and different ones differ in their last letters or digits (9999, 9998).
 * - Keys that the gateway's document does not name become `key0`, `key1` and so on, unless `redact` keeps them. That
 *   includes all keys of a payload. Equal keys stay equal. Of a list only the first 1 000 elements stay.
 * - A body that is not JSON or not UTF-8 becomes as many bytes of the same kind. An undocumented X-Webhook-Type
 *   becomes `unknown_type`. Of the other headers only a documented Content-Type stays. The id is new; duplicates
 *   share it with the delivery that was handled.
 *
 * `expect` is set if a plain receiver gives the fixture the same outcome; an outcome of your handler or store is
 * only in the description. Files are numbered in the order of the answers, appear complete or not at all, and
 * overwrite nothing. At most 10 000 deliveries and 64 MiB of bodies wait to be written; more are refused as
 * `overloaded`.
 *
 * @throws ConfigurationError for an option that cannot work.
 */
export function recordFixtures(given: RecordFixturesOptions): FixtureRecorder {
  const options = checkOptions(given);
  const { directory, onRefused, onRecorded, secret = TEST_SECRET } = options;
  keyOf(secret);
  const rules = checkRedactionRules(options.redact);
  const folder = createFixtureFolder(directory);
  const queue = createRecordingQueue(BOUNDS);
  const fixtureOf = createRecordedFixture(secret, rules);
  const tellRefusal: (refusal: FixtureRefusal) => unknown = onRefused ?? createRefusalWarning();

  const refuse = (refusal: FixtureRefusal): void => {
    void ignoreFailure(() => tellRefusal(refusal));
  };

  const record = async (delivery: CapturedDelivery): Promise<void> => {
    const { type } = delivery;
    try {
      const { stem, fixture } = await fixtureOf(delivery);
      await write(type, stem, formatFixture(fixture));
    } catch {
      refuse({ type, reason: "internal_error" });
    }
  };

  const write = async (type: string, stem: string, text: string): Promise<void> => {
    try {
      const file = await folder.add(stem, text);
      if (onRecorded !== undefined) void ignoreFailure(() => onRecorded(file));
    } catch (error) {
      refuse({ type, reason: "write_failed", error });
    }
  };

  const capture = (delivery: AuthenticDelivery): CapturedDelivery | undefined => {
    try {
      return captureDelivery(delivery);
    } catch {
      // A header object of the caller may throw.
      return undefined;
    }
  };

  const observe = (delivery: AuthenticDelivery): void => {
    const captured = capture(delivery);
    if (captured === undefined) {
      refuse({ type: recordedType(delivery.type), reason: "unreadable" });
    } else if (!queue.add(captured.body.length, () => record(captured))) {
      refuse({ type: captured.type, reason: "overloaded" });
    }
  };

  return Object.assign(observe, { flush: queue.flush });
}

function checkOptions(given: RecordFixturesOptions): RecordFixturesOptions {
  const options = ownOptions("recordFixtures", given, OPTIONS);
  const { directory, onRefused, onRecorded } = options;
  const isPath = typeof directory === "string" && directory !== "";
  checkOption(isPath, "directory must be the path of a folder");
  checkHooks({ onRefused, onRecorded });
  return options;
}

/** Runs one job after the other, and refuses jobs beyond its limits, so that a slow disk does not fill the memory. */
export function createRecordingQueue({ maxJobs, maxBytes }: typeof BOUNDS) {
  let jobs = 0;
  let held = 0;
  let last = Promise.resolve();

  return {
    /** Accepts a job that holds `bytes` bytes. Returns false if the queue is full. The job must not reject. */
    add(bytes: number, job: () => Promise<void>): boolean {
      // A job larger than the limit is accepted if nothing else waits.
      if (jobs >= maxJobs || (jobs > 0 && held + bytes > maxBytes)) return false;
      jobs += 1;
      held += bytes;
      last = last.then(job).finally(() => {
        jobs -= 1;
        held -= bytes;
      });
      return true;
    },
    /** Resolves when all jobs accepted so far are done. */
    flush: () => last,
  };
}
