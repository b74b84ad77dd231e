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

/** Remembers a delivery that is handled. */
export type Complete = () => unknown;

/**
 * Takes a delivery by hand, once its signature is checked: claims it for as long as a lease, as ours does, or puts it into
 * a queue. Undefined if its id is not new.
 */
export type TakeByHand = (
  id: string,
  type: string,
  body: Buffer,
) => Complete | undefined | Promise<Complete | undefined>;

/** Of a queue: when it has the delivery, all is done. */
export const QUEUED: Complete = () => undefined;

/** One engine as a user connects to it: with this package, or by hand. */
export interface Contenders {
  readonly ours: (load: LoadPart, place: Place) => Promise<OurChoice>;
  /** Resolves to undefined for an empty handler: it reads the body and answers 200. */
  readonly byHand: (place: Place) => Promise<TakeByHand | undefined>;
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
/** How long a hand-written claim lasts if its process dies. */
export const LEASE_MS = 60_000;

let claims = 0;
/** The owner of one claim. */
export const newOwner = (): string => `${process.pid}-${(claims += 1)}`;
