import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { DeliveryStore, WebhookHandlers, TransactionalStore } from "identity-gateway-webhooks";
import type { Place } from "../engines/engine.js";

/** What our receiver gets from the user of one engine. */
export interface OurChoice {
  readonly store?: DeliveryStore | TransactionalStore<unknown>;
  /** The handler of alarms. Default: one that resolves at once. */
  readonly newAlarm?: WebhookHandlers["new_alarm"];
}

/** Writes a delivery by hand, once its signature is checked. Returns whether its id is new. */
export type WriteByHand = (id: string, type: string, body: Buffer) => boolean | Promise<boolean>;

/** One engine as a user connects to it: with this package, or by hand. */
export interface Contenders {
  readonly ours: (load: LoadPart, place: Place) => Promise<OurChoice>;
  readonly byHand: (place: Place) => Promise<WriteByHand>;
}

/** Loads an entry of the measured build, by the name of its file in `dist`. */
export type LoadPart = <Part>(name: string) => Promise<Part>;

/** The entries of the package that is built in that folder. */
export function partsOf(folder: string): LoadPart {
  return async <Part>(name: string) =>
    (await import(pathToFileURL(join(folder, "dist", `${name}.js`)).href)) as Part;
}

/** How long the hand-written receivers remember an id: a week, as ours by default. */
export const RETENTION_MS = 604_800_000;
