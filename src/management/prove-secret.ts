import { ConfigurationError } from "../common/errors.js";
import { integerOption } from "../common/option-checks.js";
import { MAX_TIMER_MS, pause } from "../common/timers.js";
import { WEBHOOK_TYPES, isWebhookType, type WebhookType } from "../delivery/headers.js";
import {
  createWebhookSecret,
  probeReceiver,
  PROBE_OPTION_NAMES,
  type ProbeAnswer,
  type ProbeOptions,
} from "./probe-receiver.js";

/** Options of a proof that every replica accepts a secret. */
export interface ProofOptions extends ProbeOptions {
  /** The webhook types to prove it for. Default both. */
  readonly types?: readonly WebhookType[] | undefined;
  /** Replicas' own URLs, behind the load balancer. Each of them must accept the secret too. Default none. */
  readonly replicaUrls?: readonly string[] | undefined;
  /**
   * How many rounds in a row must be accepted. Behind a load balancer it must be a multiple of the number of replicas.
   * From 1 to 10 000, default 20.
   */
  readonly inARow?: number | undefined;
  /** How many instances there are. Needs `instanceHeader`; each must be seen in the row. Default unknown. */
  readonly instances?: number | undefined;
  /** The pause between two rounds. Milliseconds, from 0 to 3 600 000, default 250. */
  readonly intervalMs?: number | undefined;
  /** How long to try. Milliseconds, from 0 to 2 147 483 647, default 600 000. */
  readonly waitMs?: number | undefined;
  /** Called after each round. Its errors are not caught. */
  readonly onRound?: ((progress: ProofProgress) => void) | undefined;
}

/** How far a proof has come. */
export interface ProofProgress {
  /** Rounds in a row in which every probe was accepted. */
  readonly inARow: number;
  /** Instances seen in this row. */
  readonly instances: readonly string[];
  /** The probe that ended the last row. */
  readonly refusal: (ProbeAnswer & { readonly url: string }) | undefined;
}

/** The result of a proof. */
export interface SecretProof extends ProofProgress {
  /**
   * - `accepted`: every probe of the last row was accepted.
   * - `not_accepted`: the time was over first.
   * - `accepts_any`: the receiver also accepts a made-up secret, so its answers prove nothing.
   * - `aborted`: the signal aborted first.
   */
  readonly result: "accepted" | "not_accepted" | "accepts_any" | "aborted";
  /** Number of probes sent. */
  readonly probes: number;
}

/** The names of `ProofOptions`. */
export const PROOF_OPTION_NAMES = [
  ...["types", "replicaUrls", "inARow", "instances", "intervalMs", "waitMs", "onRound"],
  ...PROBE_OPTION_NAMES,
] as const;

/** The option `types`, checked; both types by default. Throws `ConfigurationError`. */
export function typesOption(types: readonly WebhookType[] = WEBHOOK_TYPES): readonly WebhookType[] {
  if (Array.isArray(types) && types.length > 0 && types.every(isWebhookType)) return types;
  throw new ConfigurationError("invalid_option", `types must be among ${WEBHOOK_TYPES.join(", ")}`);
}

/** Throws `ConfigurationError` for a proof option out of its bounds. */
export function checkProof({
  types,
  inARow,
  instances,
  intervalMs,
  waitMs,
  ...rest
}: ProofOptions) {
  if (instances !== undefined && rest.instanceHeader === undefined) {
    throw new ConfigurationError("invalid_option", "instances needs instanceHeader");
  }
  return {
    types: typesOption(types),
    inARow: integerOption("inARow", inARow, { fallback: 20, min: 1, max: 10_000 }),
    instances: integerOption("instances", instances, { fallback: 0, min: 1, max: 10_000 }),
    intervalMs: integerOption("intervalMs", intervalMs, { fallback: 250, min: 0, max: 3_600_000 }),
    waitMs: integerOption("waitMs", waitMs, { fallback: 600_000, min: 0, max: MAX_TIMER_MS }),
  };
}

/**
 * Proves that every replica behind `url` accepts each of `secrets`: a row of rounds in which every probe is accepted.
 * A probe that is refused or gets no clear answer starts the row again. Nothing runs at the receiver, see
 * `probeReceiver`; it logs `stale` for these requests.
 *
 * Rejects with a `ConfigurationError` for an unusable URL, secret or option.
 */
export async function proveSecret(
  url: string,
  secrets: readonly string[],
  options: ProofOptions = {},
): Promise<SecretProof> {
  const { types, inARow, instances: wanted, intervalMs, waitMs } = checkProof(options);
  const { replicaUrls = [], onRound, signal } = options;
  const until = performance.now() + waitMs;
  const isOver = () => signal?.aborted === true;
  const queries = [url, ...replicaUrls].flatMap((at) =>
    types.flatMap((type) => secrets.map((secret) => ({ at, type, secret }))),
  );
  let probes = 0;
  const ask = (at: string, type: WebhookType, secret: string): Promise<ProbeAnswer> => {
    probes += 1;
    return probeReceiver(at, { secret, type }, options);
  };

  let row = 0;
  let instances = new Set<string>();
  let refusal: ProofProgress["refusal"];
  const progress = (): ProofProgress => ({ inARow: row, instances: [...instances], refusal });

  for (;;) {
    const answers = await Promise.all(
      queries.map(async ({ at, type, secret }) => ({ url: at, ...(await ask(at, type, secret)) })),
    );
    if (isOver()) return { result: "aborted", probes, ...progress() };
    const failed = answers.find(({ result }) => result !== "accepted");
    if (failed === undefined) {
      row += 1;
      for (const { instance } of answers) if (instance !== undefined) instances.add(instance);
    } else {
      refusal = failed;
      row = 0;
      instances = new Set();
    }
    onRound?.(progress());
    if (row >= inARow && instances.size >= wanted) break;
    if (performance.now() >= until) return { result: "not_accepted", probes, ...progress() };
    await pause(intervalMs, signal);
  }

  const madeUp = createWebhookSecret();
  const controls = await Promise.all(
    [url, ...replicaUrls].flatMap((at) => types.map((type) => ask(at, type, madeUp))),
  );
  const acceptsAny = controls.some((answer) => answer.result === "accepted");
  return { result: acceptsAny ? "accepts_any" : "accepted", probes, ...progress() };
}
