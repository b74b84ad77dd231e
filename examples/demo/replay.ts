import { randomUUID } from "node:crypto";
import type { Fixture } from "./fixtures.js";
import { sign, type Delivery, type SignedDelivery } from "./gateway.js";

/** A fixture made anew for now, and what was done to it in a few words. */
export interface Replay {
  readonly id: string;
  readonly done: string;
  readonly delivery: Delivery;
}

interface Alteration {
  readonly done: string;
  readonly alter: (signed: SignedDelivery) => Delivery | Promise<Delivery>;
}

/** Fixtures whose point is a bad signature or header: what they show is done to a genuine delivery. */
const alterations = new Map<string, Alteration>([
  [
    "hostile/tampered-body",
    {
      done: "account changed on the way",
      alter: ({ headers, body }) => {
        const text = Buffer.from(body).toString().replace('"account_id":4242', '"account_id":4243');
        return { headers, body: Buffer.from(text) };
      },
    },
  ],
  [
    "hostile/wrong-secret",
    {
      done: "another secret used",
      alter: ({ headers, body }) =>
        sign(
          { type: headers["X-Webhook-Type"], id: headers["X-Webhook-Id"], body },
          Number(headers["X-Webhook-Timestamp"]),
          "whsec_test_another_secret",
        ),
    },
  ],
  [
    "hostile/shifted-delimiter",
    {
      done: "cut at another colon",
      alter: ({ headers, body }) => {
        const cut = body.indexOf(":".charCodeAt(0));
        const id = `${headers["X-Webhook-Id"]}:${Buffer.from(body.slice(0, cut)).toString()}`;
        return { headers: { ...headers, "X-Webhook-Id": id }, body: body.slice(cut + 1) };
      },
    },
  ],
  [
    "hostile/repeated-header",
    {
      done: "second id added",
      alter: ({ headers, body }) => ({
        headers: { ...headers, "X-Webhook-Id": [headers["X-Webhook-Id"], randomUUID()] },
        body,
      }),
    },
  ],
  [
    "hostile/upper-case-hex",
    {
      done: "letters made upper case",
      alter: (signed) => withSignature(signed, (text) => text.toUpperCase().replace("V1=", "v1=")),
    },
  ],
  [
    "hostile/short-signature",
    {
      done: "last digit cut off",
      alter: (signed) => withSignature(signed, (text) => text.slice(0, -1)),
    },
  ],
  [
    "hostile/unsigned",
    {
      done: "signature removed",
      alter: ({ headers, body }) => ({
        headers: Object.fromEntries(
          Object.entries(headers).filter(([name]) => name !== "X-Webhook-Signature"),
        ),
        body,
      }),
    },
  ],
]);

/** Makes `fixture` anew for now; `genuine` is what is altered where the fixture is an alteration. */
export async function replay(fixture: Fixture, genuine: Fixture): Promise<Replay> {
  const alteration = alterations.get(fixture.name);
  if (alteration === undefined) {
    const id = header(fixture, "X-Webhook-Id");
    const delivery = await sign(
      { type: header(fixture, "X-Webhook-Type"), id, body: fixture.body },
      // Underway for as long as it was, so that a stale one is stale.
      Math.floor(Date.now() / 1000) - secondsUnderway(fixture),
    );
    return { id, done: "signed and sent", delivery };
  }
  const id = randomUUID();
  const signed = await sign({ type: header(genuine, "X-Webhook-Type"), id, body: genuine.body });
  return { id, done: alteration.done, delivery: await alteration.alter(signed) };
}

function withSignature(
  { headers, body }: SignedDelivery,
  change: (text: string) => string,
): Delivery {
  const signature = change(headers["X-Webhook-Signature"]);
  return { headers: { ...headers, "X-Webhook-Signature": signature }, body };
}

function secondsUnderway(fixture: Fixture): number {
  return Date.parse(fixture.receivedAt) / 1000 - Number(header(fixture, "X-Webhook-Timestamp"));
}

/** The only value of a header. */
export function header({ name, headers }: Fixture, header: string): string {
  const value = headers[header];
  if (typeof value !== "string") throw new Error(`${name}: ${header} is needed once`);
  return value;
}
