import type { CapturedBody } from "./captured-body.js";
import { findingOf, type Finding } from "./finding.js";
import type { SearchCounts } from "./signature-search.js";
import type { WebhookHeaderTexts } from "./webhook-header-texts.js";

const NEEDED = ["X-Webhook-Id", "X-Webhook-Timestamp", "X-Webhook-Signature"] as const;

/** What is left to say where a signature is there, and nothing gives it. */
export function unexplained(
  headers: WebhookHeaderTexts,
  { bytes, contentLength }: CapturedBody,
  { signatures, keys, prefixes, bodies, isComplete }: SearchCounts,
): readonly Finding[] {
  // A header that holds no signature has a finding of its own.
  if ((signatures === 0 && isComplete) || NEEDED.some((name) => headers[name].length === 0))
    return [];
  const tried = `${keys} keys (the secrets and what becomes of them), ${prefixes} readings of the headers and ${bodies} bodies, ${signatures} signatures in all: none is that of the header.`;
  const bound = isComplete ? "" : " The body or a secret is too large to try more.";
  const isWhole = contentLength === bytes.length;
  const cause = isWhole
    ? "The body is as long as Content-Length says, so most likely the secret is another one."
    : "Most likely the secret is another one, or the bytes were changed in a way that is not known.";
  const finding = findingOf(
    { code: "unexplained", message: `Tried ${tried}${bound} ${cause}` },
    "possible",
  );
  const mend = `Compare the secret with the one chosen when this webhook was registered, for this type; the gateway never shows it again, so where it is lost, register the webhook anew. If it is right, the bytes are not. ${finding.mend}`;
  return [{ ...finding, mend }];
}
