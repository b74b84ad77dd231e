import { HEADER_ROWS, trimmed, valuesOf, type WebhookHeaders } from "./header-values.js";
import { HEADERS, isDeliveryId, typeLabel, type HeaderRow, type TypeLabel } from "./headers.js";

const ROWS = HEADER_ROWS.map(([, row]) => row);
const NEEDED = ROWS.filter(({ neededBy }) => neededBy !== "none");

type GivenHeaders = WebhookHeaders | null | undefined;

/** What is wrong with a signature that breaks its grammar. */
export const signatureFault = (): string => `${brokenRule(HEADERS.signature)}.`;

/**
 * Says which webhook headers make a delivery malformed, and how: missing, repeated or against the
 * grammar. Never names a value. Reads the headers a second time, because only a log line needs it.
 */
export function headerFaults(headers: GivenHeaders): string {
  if (NEEDED.every(({ name }) => valuesOf(headers, name).length === 0)) {
    return "None of the four X-Webhook- headers is there.";
  }
  const faults = NEEDED.map((row) => faultOf(row, valuesOf(headers, row.name)));
  return `${faults.filter((fault) => fault !== undefined).join("; ")}.`;
}

/**
 * Whether a request has a header that only deliveries have, also an empty or repeated one. X-Webhook-Type alone
 * is none: the gateway's check of a new URL may have it.
 */
export function hasDeliveryMark(headers: GivenHeaders): boolean {
  return ROWS.some(({ name, ofSignature }) => ofSignature && valuesOf(headers, name).length > 0);
}

/**
 * The type that a malformed request claims if its signature, or all other headers, are well-formed: the gateway may
 * have sent it, and something in front changed it. Undefined for any other request, and for headers that cannot be
 * read twice.
 */
export function claimedType(headers: GivenHeaders): TypeLabel | undefined {
  try {
    const areFit = (neededBy: string): boolean =>
      ROWS.every((row) => row.neededBy !== neededBy || row.fits(firstOf(headers, row.name)));
    if (!areFit("secret") && !areFit("delivery")) return undefined;
    const type = firstOf(headers, HEADERS.type.name);
    return typeLabel(isDeliveryId(type) ? type : undefined);
  } catch {
    return undefined;
  }
}

/** The first value of a header, also of several that are joined with a comma. */
function firstOf(headers: GivenHeaders, name: string): string {
  const [value] = valuesOf(headers, name);
  return typeof value === "string" ? (value.split(",", 1)[0] ?? "").trim() : "";
}

function faultOf(row: HeaderRow, values: readonly unknown[]): string | undefined {
  const { name, neededBy, fits, isList } = row;
  const [value] = values;
  // Without a signature a delivery is unsigned, not malformed.
  if (value === undefined) return neededBy === "secret" ? undefined : `${name} is missing`;
  const texts = values.map(trimmed);
  if (isList === true) {
    const isText = texts.every((text) => typeof text === "string");
    return isText && fits(texts.join()) ? undefined : brokenRule(row);
  }
  if (values.length > 1) return `${name} is repeated`;
  if (typeof value !== "string") return brokenRule(row);
  // Several values of one name come joined with a comma, which no grammar allows.
  if (value.includes(",")) return `${name} is repeated`;
  return fits(texts[0]) ? undefined : brokenRule(row);
}

function brokenRule({ name, grammar }: Pick<HeaderRow, "name" | "grammar">): string {
  return `${name} is not ${grammar}`;
}
