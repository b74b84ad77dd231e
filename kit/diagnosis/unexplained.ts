import type { CapturedBody } from "./captured-body.js";
import type { SignatureFinding } from "./finding.js";
import { SIGNATURE_FINDINGS } from "./finding-codes.js";
import type { SearchCounts } from "./signature-search.js";
import type { WebhookHeaderTexts } from "./webhook-header-texts.js";

const NEEDED = ["X-Webhook-Id", "X-Webhook-Timestamp", "X-Webhook-Signature"] as const;

/** The finding when there is a signature and nothing explains it. */
export function unexplained(
  headers: WebhookHeaderTexts,
  { bytes, contentLength }: CapturedBody,
  { signatures, keys, prefixes, bodies, isComplete }: SearchCounts,
): readonly SignatureFinding[] {
  // A header without a signature has its own finding.
  if ((signatures === 0 && isComplete) || NEEDED.some((name) => headers[name].length === 0))
    return [];
  const tried = `${keys} keys (the secrets and their spellings), ${prefixes} readings of the headers and ${bodies} bodies, ${signatures} signatures in all: none matches the header.`;
  const bound = isComplete ? "" : " The body or a secret is too large to try more.";
  const isWhole = contentLength === bytes.length;
  const cause = isWhole
    ? "The body is as long as Content-Length says, so most likely the secret is wrong."
    : "Most likely the secret is wrong, or the bytes were changed in an unknown way.";
  const fix = `Compare the secret with the one that was chosen when the webhook of this type was registered. The gateway never shows it again, so if it is lost, register the webhook again. If the secret is right, the bytes are wrong. ${SIGNATURE_FINDINGS.unexplained}`;
  const message = `Tried ${tried}${bound} ${cause}`;
  return [{ code: "unexplained", certainty: "possible", message, fix }];
}
