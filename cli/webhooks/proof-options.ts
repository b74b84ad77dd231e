import { WEBHOOK_TYPES } from "../../src/common/gateway-facts.js";
import type { ProofOptions, SecretProof } from "../../src/management/prove-secret.js";
import { list, text, whole, type OptionSpecs, type Values } from "../options/option-specs.js";
import { typesOf } from "../options/shared-options.js";
import { readTargetUrl } from "../options/target-url.js";
import type { CommandIo } from "../terminal/command-io.js";
import { joined, printableLine } from "../terminal/printable.js";
import { writeResult, writeRows } from "./report-lines.js";

/** The option that chooses webhook types. */
export const TYPE_OPTION = list(
  "<type>",
  `A webhook type that the receiver handles: ${WEBHOOK_TYPES.join(" or ")}. Default: both.`,
);

/** The options of a proof that every replica accepts a secret. */
export const PROOF_OPTIONS = {
  "in-a-row": whole(
    "<n>",
    { min: 1, max: 10_000, fallback: 50 },
    "How many probes of a secret must be accepted in a row. Behind a load balancer: seven times the number of replicas.",
  ),
  replica: list(
    "<url>",
    "The own URL of a replica behind the load balancer. It must accept the secret too.",
  ),
  "instance-header": text("<name>", "A response header that names the instance."),
  instances: whole(
    "<n>",
    { min: 1, max: 10_000 },
    "With --instance-header: how many instances must be seen.",
  ),
  wait: whole(
    "<s>",
    { min: 0, max: 1_000_000, fallback: 600 },
    "How long to wait until every replica has the secret. Seconds.",
  ),
} as const satisfies OptionSpecs;

interface ProofValues extends Values<typeof PROOF_OPTIONS> {
  readonly type: readonly string[];
  readonly timeout: number;
}

/** The options of a proof as the library takes them. */
export function proofOptionsOf(io: CommandIo, values: ProofValues): ProofOptions {
  const { instances, wait, timeout: timeoutMs } = values;
  return {
    types: typesOf(values.type),
    timeoutMs,
    signal: io.signal,
    waitMs: wait * 1_000,
    inARow: values["in-a-row"],
    replicaUrls: values.replica.map((url) => readTargetUrl(url).href),
    instanceHeader: values["instance-header"],
    instances,
  };
}

/** What a failed proof means for the command that asked for it. */
export interface FailedProofWords {
  /** A sentence about the gateway. */
  readonly gateway?: string;
  /** How to go on. */
  readonly again?: string;
}

/** Shows a proof that failed, and what to do about it. */
export function describeFailedProof(
  { out }: CommandIo,
  proof: SecretProof,
  {
    gateway = "This run changed nothing at the gateway.",
    again = "run the same command again",
  }: FailedProofWords = {},
): void {
  const { result, refusal, probes } = proof;
  writeResult(out, false, `${SENTENCES[result]} ${gateway}`);
  const { status, instance } = refusal ?? {};
  const seen = joined([
    refusal === undefined
      ? "instances were missing in the row"
      : (refusal.outcome ?? refusal.result),
    status === undefined ? undefined : `status ${status}`,
    instance === undefined ? undefined : `instance ${instance}`,
  ]);
  writeRows(out, [
    ["probes", `${probes}, the last failure: ${printableLine(seen)}`],
    ["fix", FIXES[result](again)],
  ]);
}

const SENTENCES = {
  accepted: "Every replica accepts the secret.",
  not_accepted: "A replica does not accept the secret.",
  accepts_any: "The receiver accepts any signature.",
  aborted: "Stopped.",
} as const satisfies Record<SecretProof["result"], string>;

const FIXES = {
  accepted: () => "None.",
  not_accepted: (again) => `Deploy the secret to every replica, then ${again}.`,
  accepts_any: (again) =>
    `Remove acceptUnsignedDeliveries and give the receiver its secret, then ${again}.`,
  aborted: (again) => `To go on, ${again}.`,
} as const satisfies Record<SecretProof["result"], (again: string) => string>;
