import { delivery } from "./deliveries.js";

/** A request of a stranger, who does not know the secret. */
interface ForgedRequest {
  readonly kind: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

/** What a stranger changes in a delivery that he signs with a secret of his own. Undefined takes a header away. */
const CHANGES: Readonly<Record<string, Readonly<Record<string, string | undefined>>>> = {
  "another secret": {},
  "no signature": { "x-webhook-signature": undefined },
  "a broken signature": { "x-webhook-signature": "v1=0" },
  "no id": { "x-webhook-id": undefined },
  "a broken id": { "x-webhook-id": "a:b" },
  "no timestamp": { "x-webhook-timestamp": undefined },
  "a broken timestamp": { "x-webhook-timestamp": "noon" },
  "no type": { "x-webhook-type": undefined },
  "the other type": { "x-webhook-type": "delete_my_data_event" },
  "a type that is not documented": { "x-webhook-type": "jane_doe" },
  "the type constructor": { "x-webhook-type": "constructor" },
};

/** Every kind of forged request, one each. */
export async function forgedRequests(): Promise<readonly ForgedRequest[]> {
  const { method, headers, body } = await delivery({
    id: "forged",
    secret: "a secret of the stranger",
  });
  const changed = Object.entries(CHANGES).map(([kind, changes]): ForgedRequest => {
    const all: Readonly<Record<string, string | undefined>> = { ...headers, ...changes };
    const kept = Object.entries(all).filter(
      (header): header is [string, string] => header[1] !== undefined,
    );
    return { kind, method, headers: Object.fromEntries(kept), body };
  });
  return [
    ...changed,
    { kind: "no webhook header", method, headers: {}, body },
    { kind: "GET", method: "GET", headers: {}, body: "" },
    { kind: "PUT", method: "PUT", headers, body },
    { kind: "a body over the limit", method, headers, body: " ".repeat(20_000) },
  ];
}
