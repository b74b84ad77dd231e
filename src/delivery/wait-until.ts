import { ignoreFailure } from "../common/promises.js";
import type { WebhookRequest } from "./request.js";

/** A platform's function that keeps a request's context until a promise has settled. */
export type WaitUntil = (work: Promise<unknown>) => unknown;

/** Read once, as a partner's request may have an accessor there. */
export function waitUntilOf(request: WebhookRequest): WaitUntil | undefined {
  const { waitUntil } = request as { waitUntil?: unknown };
  return typeof waitUntil === "function" ? (waitUntil as WaitUntil) : undefined;
}

/** Asks the platform to keep the request's context until `work` is done: some end it with the answer. */
export function holdOpen(
  { waitUntil }: { readonly waitUntil: WaitUntil | undefined },
  work: Promise<unknown> | undefined,
): void {
  if (waitUntil === undefined || work === undefined) return;
  void ignoreFailure(() => waitUntil(work));
}
