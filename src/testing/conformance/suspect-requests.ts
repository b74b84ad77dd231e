import type { Deliver, Delivery } from "./deliveries.js";
import type { Named } from "./expectations.js";
import { ID, SIGNATURE, TIMESTAMP, TYPE, textOf, withBody, withHeader } from "./request-changes.js";

/**
 * What cannot be told from a forgery, and is a genuine delivery all the same where somebody on the
 * receiver's side has made a mistake.
 */
export const wrongSecret = async (deliver: Deliver): Promise<Named<Delivery>> => [
  "another secret",
  await deliver({ secret: "whsec_of_somebody_else" }),
];

export const unsignedRequest = async (deliver: Deliver): Promise<Named<Delivery>> => [
  "no signature",
  withHeader(await deliver(), SIGNATURE),
];

/** As a proxy leaves it that parses JSON and writes it anew. */
export const rewrittenBody = async (deliver: Deliver): Promise<Named<Delivery>> => {
  const text = textOf(await deliver());
  return ["JSON written anew", withBody(await deliver({ body: `${text}\n` }), text)];
};

export const driftedClock = async (deliver: Deliver): Promise<readonly Named<Delivery>[]> => [
  ["an hour old", await deliver({ age: 3_600 })],
  ["an hour ahead", await deliver({ age: -3_600 })],
];

export const lostHeaders = (deliver: Deliver): Promise<readonly Named<Delivery>[]> =>
  Promise.all(
    [ID, TIMESTAMP, TYPE].map(
      async (name) => [`no ${name}`, withHeader(await deliver(), name)] as const,
    ),
  );
