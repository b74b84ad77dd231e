import { invalidOption } from "../common/errors.js";
import { integerOptions } from "../common/option-checks.js";
import { MAX_TIMER_MS, pause } from "../common/timers.js";
import { WEBHOOK_TYPES } from "../common/gateway-facts.js";
import { isWebhookType, type WebhookType } from "../delivery/headers.js";
import {
  createWebhookSecret,
  probeReceiver,
  PROBE_OPTION_NAMES,
  type ProbeAnswer,
  type ProbeOptions,
} from "./probe-receiver.js";

/**
 * Options of a proof that every replica accepts a secret.
 *
 * @experimental
 */
export interface ProofOptions extends ProbeOptions {
  /** The webhook types to prove it for. Default both. */
  readonly types?: readonly WebhookType[] | undefined;
  /** Replicas' own URLs, behind the load balancer. Each of them must accept the secret too. Default none. */
  readonly replicaUrls?: readonly string[] | undefined;
  /**
   * How many probes of each secret must be accepted one after the other. Behind a load balancer that chooses at random,
   * seven times the number of replicas miss one of them once in a thousand proofs. From 1 to 10 000, default 50.
   */
  readonly inARow?: number | undefined;
  /** How many instances there are. Needs `instanceHeader`; each must be seen with each secret. Default unknown. */
  readonly instances?: number | undefined;
  /**
   * The pause before a row starts again, and after each `inARow` probes while instances are missing. Milliseconds, from 0
   * to 3 600 000, default 1 000.
   */
  readonly intervalMs?: number | undefined;
  /** How long to start again. Milliseconds, from 0 to 2 147 483 647, default 600 000. */
  readonly waitMs?: number | undefined;
  /** Called after each probe. Its errors are not caught. */
  readonly onProbe?: ((progress: ProofProgress) => void) | undefined;
}

/** How far a proof has come. */
export interface ProofProgress {
  /** Probes accepted one after the other. */
  readonly inARow: number;
  /** Instances that answered the last series of probes. */
  readonly instances: readonly string[];
  /** The probe that ended the last row. Its `url` has no query, which may hold a token. */
  readonly refusal: (ProbeAnswer & { readonly url: string }) | undefined;
}

/**
 * The result of a proof.
 *
 * @experimental
 */
export interface SecretProof extends ProofProgress {
  /**
   * - `accepted`: every probe of a whole row was accepted.
   * - `not_accepted`: the time was over first. `refusal` may be the answer to the made-up secret, if that was not refused.
   * - `accepts_any`: the receiver also accepts a made-up secret, so its answers prove nothing.
   * - `aborted`: the signal aborted first.
   */
  readonly result: "accepted" | "not_accepted" | "accepts_any" | "aborted";
  /** Number of probes sent. */
  readonly probes: number;
}

const INTEGER_OPTIONS = {
  inARow: { fallback: 50, min: 1, max: 10_000 },
  instances: { fallback: 0, min: 1, max: 10_000 },
  intervalMs: { fallback: 1_000, min: 0, max: 3_600_000 },
  waitMs: { fallback: 600_000, min: 0, max: MAX_TIMER_MS },
};

/** The names of `ProofOptions`. */
export const PROOF_OPTION_NAMES = [
  ...Object.keys(INTEGER_OPTIONS),
  "types",
  "replicaUrls",
  "onProbe",
  ...PROBE_OPTION_NAMES,
];

/** The option `types`, checked; both types by default. Throws `ConfigurationError`. */
export function typesOption(types: readonly WebhookType[] = WEBHOOK_TYPES): readonly WebhookType[] {
  if (Array.isArray(types) && types.length > 0 && types.every(isWebhookType)) return types;
  throw invalidOption(`types must be among ${WEBHOOK_TYPES.join(", ")}`);
}

/** Throws `ConfigurationError` for a proof option out of its bounds. */
export function checkProof(options: ProofOptions) {
  if (options.instances !== undefined && options.instanceHeader === undefined) {
    throw invalidOption("instances needs instanceHeader");
  }
  return { types: typesOption(options.types), ...integerOptions(options, INTEGER_OPTIONS) };
}

/**
 * Proves that every replica behind `url` accepts each of `secrets`: probes one after the other, each accepted. One that
 * is refused or gets no clear answer starts the row again. A last probe of a made-up secret must be refused at each URL.
 * Nothing runs at the receiver, see `probeReceiver`.
 *
 * Rejects with a `ConfigurationError` for an unusable URL, secret or option.
 *
 * @experimental
 */
export async function proveSecret(
  url: string,
  secrets: readonly string[],
  options: ProofOptions = {},
): Promise<SecretProof> {
  const { types, inARow, instances, intervalMs, waitMs } = checkProof(options);
  const { replicaUrls = [], signal } = options;
  const until = performance.now() + waitMs;
  const isOver = () => performance.now() >= until;
  const isAborted = () => signal?.aborted === true;
  // All probes of one secret in a row: taking turns between the secrets, a load balancer that takes turns too could
  // lead each secret to the same replicas every time.
  const queries = types.flatMap((type) => secrets.map((secret) => ({ type, secret })));
  const series: readonly Series[] = [
    ...queries.map((query) => ({ ...query, at: url, probes: inARow, instances })),
    ...replicaUrls.flatMap((at) => queries.map((q) => ({ ...q, at, probes: 1, instances: 0 }))),
  ];
  let probes = 0;
  let row = 0;
  let seen: readonly string[] = [];
  let refusal: ProofProgress["refusal"];
  const ended = (result: SecretProof["result"]): SecretProof => ({
    result,
    probes,
    inARow: row,
    instances: seen,
    refusal,
  });

  const run = async ({ at, type, secret, ...wanted }: Series): Promise<boolean> => {
    const found = new Set<string>();
    for (let count = 0; count < wanted.probes || found.size < wanted.instances; count++) {
      if (count >= wanted.probes) {
        if (isOver()) return false;
        // An instance is missing. It may be for the whole of `waitMs`, so the probes come no faster than rows do.
        if (count % wanted.probes === 0) await pause(intervalMs, signal);
        if (isAborted()) return false;
      }
      const answer = await probeReceiver(at, { secret, type }, options);
      probes += 1;
      if (isAborted()) return false;
      if (answer.result === "accepted") row += 1;
      else refusal = named(at, answer);
      if (answer.instance !== undefined) found.add(answer.instance);
      options.onProbe?.({ inARow: row, instances: [...found], refusal });
      if (answer.result !== "accepted") return false;
    }
    if (at === url) seen = [...found];
    return true;
  };

  /** The answers to a made-up secret. A receiver that does not refuse it proves nothing with its other answers. */
  const control = (): Promise<readonly NamedAnswer[]> => {
    const [type = "new_alarm"] = types;
    const secret = createWebhookSecret();
    const urls = [url, ...replicaUrls];
    probes += urls.length;
    return Promise.all(
      urls.map(async (at) => named(at, await probeReceiver(at, { secret, type }, options))),
    );
  };

  for (;;) {
    row = 0;
    let isRow = true;
    for (const one of series) isRow &&= await run(one);
    const controls = isRow && !isAborted() ? await control() : [];
    if (isAborted()) return ended("aborted");
    if (controls.some(({ result }) => result === "accepted")) return ended("accepts_any");
    const unclear = controls.find(({ result }) => result !== "refused");
    if (isRow && unclear === undefined) return ended("accepted");
    refusal = unclear ?? refusal;
    if (isOver()) return ended("not_accepted");
    await pause(intervalMs, signal);
  }
}

type NamedAnswer = NonNullable<ProofProgress["refusal"]>;

function named(url: string, answer: ProbeAnswer): NamedAnswer {
  return { url: url.replace(/[?#].*$/s, ""), ...answer };
}

/** Probes of one secret at one URL. */
interface Series {
  readonly at: string;
  readonly type: WebhookType;
  readonly secret: string;
  /** How many must be accepted in a row. */
  readonly probes: number;
  /** How many instances must be seen. */
  readonly instances: number;
}
