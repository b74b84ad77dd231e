import type { WebhookHeaders } from "./header-values.js";
import {
  isDeliveryId,
  isDeliveryTimestamp,
  isSignature,
  typeLabel,
  type TypeLabel,
} from "./headers.js";

/** The four webhook headers, and the log's text for a value that breaks the grammar. */
const RULES: readonly (readonly [string, string, (text: string) => boolean])[] = [
  ["X-Webhook-Id", "is not 1 to 128 characters of [0-9A-Za-z._-]", isDeliveryId],
  ["X-Webhook-Timestamp", "is not 1 to 12 digits", isDeliveryTimestamp],
  ["X-Webhook-Type", "is not 1 to 128 characters of [0-9A-Za-z._-]", isDeliveryId],
  ["X-Webhook-Signature", "is not v1= and 64 hexadecimal digits", isSignature],
];

/** What is wrong with a signature that breaks its grammar. */
export const signatureFault = (): string =>
  "X-Webhook-Signature is not v1= and 64 hexadecimal digits.";

/**
 * Says which webhook headers make a delivery malformed, and how: missing, repeated or against the
 * grammar. Never names a value. Reads the headers a second time, because only a log line needs it.
 */
export function headerFaults(headers: WebhookHeaders | null | undefined): string {
  const values = RULES.map(([name]) => valuesOf(headers, name));
  if (values.every(({ length }) => length === 0)) {
    return "None of the four X-Webhook- headers is there.";
  }
  const faults = RULES.map(([name, broken, fits], at) =>
    faultOf(name, broken, fits, values[at] ?? []),
  );
  const isSigned = values.at(-1)?.length !== 0;
  // Without a signature a delivery is unsigned, not malformed.
  const named = faults.filter((fault, at) => fault !== undefined && (at < 3 || isSigned));
  return `${named.join("; ")}.`;
}

/**
 * The type that a malformed request claims if its signature is well-formed: the gateway may have sent it, and a
 * proxy in front changed its headers. Undefined for any other request, and for headers that cannot be read twice.
 */
export function claimedType(headers: WebhookHeaders | null | undefined): TypeLabel | undefined {
  try {
    if (!isSignature(firstOf(headers, "X-Webhook-Signature"))) return undefined;
    const type = firstOf(headers, "X-Webhook-Type");
    return typeLabel(isDeliveryId(type) ? type : undefined);
  } catch {
    return undefined;
  }
}

/** The first value of a header, also of several that are joined with a comma. */
function firstOf(headers: WebhookHeaders | null | undefined, name: string): string {
  const [value] = valuesOf(headers, name);
  return typeof value === "string" ? (value.split(",", 1)[0] ?? "").trim() : "";
}

function faultOf(
  name: string,
  broken: string,
  fits: (text: string) => boolean,
  values: readonly unknown[],
): string | undefined {
  const [value] = values;
  if (value === undefined) return `${name} is missing`;
  if (values.length > 1) return `${name} is repeated`;
  if (typeof value !== "string") return `${name} ${broken}`;
  // Several values of one name come joined with a comma, which no grammar allows.
  if (value.includes(",")) return `${name} is repeated`;
  return fits(value) ? undefined : `${name} ${broken}`;
}

/** Every value of a header, in any letter case and any form. */
function valuesOf(headers: WebhookHeaders | null | undefined, name: string): readonly unknown[] {
  if (headers === null || headers === undefined) return [];
  const lower = name.toLowerCase();
  const given =
    typeof headers.get === "function"
      ? [headers.get(lower)]
      : Object.entries(headers).flatMap(([key, value]) =>
          key.toLowerCase() === lower ? (value as unknown) : [],
        );
  return given.filter((value) => value !== undefined && value !== null);
}
