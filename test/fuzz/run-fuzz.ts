import { setImmediate as turn } from "node:timers/promises";
import { inspect } from "node:util";
import { vi } from "vitest";
import { outcomePages } from "../../docs/answers-page.js";
import {
  createWebhookReceiver,
  memoryStore,
  verifySignature,
  type WebhookReceiver,
  type WebhookReceiverOptions,
} from "../../src/index.js";
import { NOW_MS, NOW_SECONDS, TEST_SECRET } from "../support/deliveries.js";
import { Fuzzer, type FuzzedRequest } from "./fuzz.js";
import { bytesOf, isSigned, Judge, type JudgedRun, type JudgeSettings } from "./judge.js";

/** Makes the receiver that is fuzzed. */
export type MakeReceiver = (options: WebhookReceiverOptions) => Pick<WebhookReceiver, "receive">;

/** What became of the requests. */
interface FuzzResult {
  readonly sent: number;
  /** Number of requests by signature and outcome. */
  readonly outcomes: ReadonlyMap<string, number>;
  /** The first request that went another way than the judge says; undefined if there is none. */
  readonly finding: string | undefined;
}

/** How a receiver is configured, in its own option and as the judge knows it. */
interface Setup extends Omit<JudgeSettings, keyof typeof SHARED> {
  readonly secret: NonNullable<WebhookReceiverOptions["secret"]>;
  readonly unverifiable?: "retry" | "reject";
}

const SHARED = { nowSeconds: NOW_SECONDS, toleranceSeconds: 300, maxBodyBytes: 8_192 };
const [NEWER, OTHER] = ["whsec_newer_0123456789abcdef", "whsec_other_0123456789åäö"];
const BY_TYPE = { new_alarm: [TEST_SECRET, NEWER], delete_my_data_event: [OTHER] };
const byType = (type: string) =>
  Object.entries(BY_TYPE).find(([known]) => known === type)?.[1] ?? [TEST_SECRET, NEWER, OTHER];
const SETUPS: readonly Setup[] = [
  { secret: TEST_SECRET, secretsOf: () => [TEST_SECRET], takesUnrecognized: true },
  { secret: [NEWER, TEST_SECRET], secretsOf: () => [NEWER, TEST_SECRET], unverifiable: "reject" },
  { secret: BY_TYPE, secretsOf: byType, takesEvents: ["DATA_REAPPEARED"] },
  { secret: ({ type }) => BY_TYPE[type], secretsOf: byType, takesAlarms: false },
  { secret: ({ type }) => Promise.resolve(BY_TYPE[type]), secretsOf: byType },
];
/** Requests with the same receivers. Each block has a seed of its own, so that it can be repeated alone. */
const BLOCK = 500;

/** The statuses of each outcome, without and with `unverifiable: "reject"`, as the documents have them. */
const DOCUMENTED = new Map<string, readonly (readonly (string | undefined)[])[]>(
  outcomePages().map(({ outcome, text }) => {
    const answers = text.matchAll(/Answered (\d+)(?:, or (\d+))?/g);
    const statuses = Array.from(answers, ([, status, rejecting]) => [status, rejecting ?? status]);
    return [outcome, statuses] as const;
  }),
);

/** A receiver, and the judge of its requests. */
class Subject {
  readonly fuzzer: Fuzzer;
  readonly #setup: Setup;
  readonly #judge: Judge;
  readonly #receiver: Pick<WebhookReceiver, "receive">;
  /** What the last request led to. */
  #runs: JudgedRun[] = [];
  #reports: string[] = [];
  #claims = 0;

  constructor(setup: Setup, seed: number, make: MakeReceiver) {
    const { takesAlarms = true, takesEvents, takesUnrecognized = false } = setup;
    this.#setup = setup;
    this.fuzzer = new Fuzzer(seed, setup.secretsOf);
    this.#judge = new Judge({ ...SHARED, ...setup });
    const noting =
      (handler: JudgedRun["handler"]) => (record: unknown, context: { readonly id: string }) => {
        this.#runs.push({ handler, id: context.id, record });
      };
    const onEvent = noting("delete_my_data_event");
    const onUnrecognized = noting("unrecognized");
    const store = memoryStore();
    this.#receiver = make({
      secret: setup.secret,
      unverifiable: setup.unverifiable,
      handlers: {
        new_alarm: takesAlarms ? noting("new_alarm") : undefined,
        delete_my_data_event: takesEvents
          ? Object.fromEntries(takesEvents.map((type) => [type, onEvent]))
          : onEvent,
        unrecognized: takesUnrecognized
          ? ({ body }, context) => onUnrecognized(body, context)
          : undefined,
      },
      store: {
        ...store,
        claim: (...call) => {
          this.#claims += 1;
          return store.claim(...call);
        },
      },
      maxBodyBytes: SHARED.maxBodyBytes,
      now: () => NOW_MS,
      logger: false,
      onOutcome: ({ outcome }) => this.#reports.push(outcome),
    });
  }

  /** Sends a request. Returns the outcome by the judge, and what else the receiver did, if it did. */
  async check({ request, signature }: FuzzedRequest): Promise<{ outcome: string; fault?: string }> {
    this.#runs = [];
    this.#reports = [];
    this.#claims = 0;
    const { outcome, answer = 0, run } = this.#judge.judge(request);
    const isRight = signature !== "new signature" || outcome !== "signature_mismatch";
    if (!isRight || (signature === "forged" && run !== undefined))
      return { outcome, fault: "the judge errs" };
    const statuses = DOCUMENTED.get(outcome)?.[answer] ?? [];
    const status = statuses[this.#setup.unverifiable === "reject" ? 1 : 0];
    const claims = outcome === "handled" || outcome === "duplicate" ? 1 : 0;
    // As JSON, because `isDeepStrictEqual` ends the stack at records that are nested deeply.
    const runs = JSON.stringify(run === undefined ? [] : [run]);
    const expected = `${String(status)} ${outcome}, reported ${outcome}, claims ${claims}, runs ${runs}`;
    let actual: string;
    try {
      const response = await this.#receiver.receive(request);
      actual = `${response.status} ${response.outcome}, reported ${this.#reports.join()}, claims ${this.#claims}, runs ${JSON.stringify(this.#runs)}`;
    } catch (error) {
      actual = `a rejection with ${String(error)}`;
    }
    if (actual !== expected) return { outcome, fault: `expected ${expected}; got ${actual}` };
    const secrets = this.#setup.secretsOf("of any type");
    const verified = await verifySignature({ secret: secrets, ...request });
    const expectedToVerify = isSigned(secrets, request.headers, bytesOf(request.body));
    return verified === expectedToVerify
      ? { outcome }
      : { outcome, fault: `verifySignature says ${verified}` };
  }
}

/** Sends so many requests, until one goes another way than the judge says, or leaves something behind. */
export async function runFuzz(
  seed: number,
  requests: number,
  make: MakeReceiver = createWebhookReceiver,
): Promise<FuzzResult> {
  const left = watchLeftovers();
  const outcomes = new Map<string, number>();
  let sent = 0;
  try {
    for (let block = seed; sent < requests; block++) {
      const subjects = SETUPS.map(
        (setup, at) => new Subject(setup, block * SETUPS.length + at, make),
      );
      let ofBlock = 0;
      while (ofBlock < BLOCK && sent < requests) {
        for (const subject of subjects) {
          for (const fuzzed of subject.fuzzer.next()) {
            sent += 1;
            ofBlock += 1;
            const { outcome, fault } = await subject.check(fuzzed);
            const kind = `${fuzzed.signature}: ${outcome}`;
            outcomes.set(kind, (outcomes.get(kind) ?? 0) + 1);
            if (fault === undefined) continue;
            const repeat = `FUZZ_SEED=${block} FUZZ_RUNS=${ofBlock}`;
            const finding = `${repeat}: ${fault}, ${shown(fuzzed)}`;
            return { sent, outcomes, finding };
          }
        }
      }
      const fault = await left.find();
      if (fault !== undefined)
        return { sent, outcomes, finding: `FUZZ_SEED=${block} FUZZ_RUNS=${ofBlock}: ${fault}` };
    }
    return { sent, outcomes, finding: undefined };
  } finally {
    left.stop();
  }
}

function shown({ request, mutations, signature }: FuzzedRequest): string {
  const { method, headers, body } = request;
  const pairs = headers instanceof Headers ? [...headers] : Object.entries(headers);
  const parts = { method, headers: pairs, body: Buffer.from(bytesOf(body)).toString("hex") };
  return `by ${mutations.join(", ")}, ${signature}: ${inspect(parts, { depth: 4 })}`;
}

/** Watches for timers, listeners of the process and rejections that no one handles. */
function watchLeftovers() {
  const rejections: unknown[] = [];
  const note = (error: unknown) => rejections.push(error);
  // The runner's own listeners would fail the run for a flaw that is planted.
  const listeners = process.listeners("unhandledRejection");
  process.removeAllListeners("unhandledRejection").on("unhandledRejection", note);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
  const countListeners = () => {
    const counts = process.eventNames().map((name) => process.listenerCount(name));
    return counts.reduce((sum, count) => sum + count, 0);
  };
  const before = countListeners();
  return {
    async find(): Promise<string | undefined> {
      await turn();
      if (rejections.length > 0) return `${rejections.length} unhandled rejections`;
      if (vi.getTimerCount() > 0) return `${vi.getTimerCount()} timers left`;
      return countListeners() > before ? "listeners of the process left" : undefined;
    },
    stop() {
      vi.useRealTimers();
      process.off("unhandledRejection", note);
      for (const listener of listeners) process.on("unhandledRejection", listener);
    },
  };
}
