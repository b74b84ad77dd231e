/** The golden vector of the `v1` signature, as the gateway's owner published it. */
export const GOLDEN = {
  secret: "whsec_test_0123456789abcdef",
  timestamp: "1760000000",
  id: "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
  body: String.raw`{"alarm":{"id":1,"text":"Ålarm – test","account_id":42,"severity":"High","status":"NEW","source":"BreachDb","event_type":"ssn_hacked","category_id":1,"original_event_id":"x","payload":"{\"k\":\"a:b\"}","date":"2026-07-08 10:00:00","checked_at":"2026-07-08 10:00:00","created_at":"2026-07-08 10:00:00","updated_at":"2026-07-08 10:00:00"}}`,
  signature: "v1=dc45d4a160775969ca8ddece8e1b3830b85849ac2915ab4928428795084289c0",
} as const;

/** The exact bytes of the golden body. */
export const GOLDEN_BYTES = new TextEncoder().encode(GOLDEN.body);
