import type { Named, NamedDeliveries } from "./expectations.js";
import { ID, SIGNATURE, TIMESTAMP, TYPE, textOf, withBody, withHeader } from "./request-changes.js";
import { each, type Delivery, type MakeDelivery } from "./test-deliveries.js";

// A receiver cannot tell these requests from forgeries. They are genuine all the same if the receiver's side
// has made a mistake: a wrong secret, a wrong clock, a proxy that changes requests.

/** Signed with a secret that the receiver does not have. */
export const wrongSecret = async (deliver: MakeDelivery): Promise<Named<Delivery>> => [
  "another secret",
  await deliver({ secret: "whsec_of_another_webhook" }),
];

/** Without a signature. */
export const unsignedRequest = async (deliver: MakeDelivery): Promise<Named<Delivery>> => [
  "no signature",
  withHeader(await deliver(), SIGNATURE),
];

/** As it leaves a proxy that parses JSON and serializes it again. */
export const reserializedBody = async (deliver: MakeDelivery): Promise<Named<Delivery>> => {
  const text = textOf(await deliver());
  return ["re-serialized JSON", withBody(await deliver({ body: `${text}\n` }), text)];
};

/** Signed an hour before and an hour after the receiver's time. */
export const driftedClock = async (deliver: MakeDelivery): Promise<NamedDeliveries> => [
  ["an hour old", await deliver({ age: 3_600 })],
  ["an hour ahead", await deliver({ age: -3_600 })],
];

/** Each without one of its headers. */
export const missingHeaders = (deliver: MakeDelivery): Promise<NamedDeliveries> =>
  each(
    [ID, TIMESTAMP, TYPE],
    async (name) => [`no ${name}`, withHeader(await deliver(), name)] as const,
  );
