import {
  memoryStore,
  type DeliveryStore,
  type WebhookReceiver,
  type WebhookResponse,
} from "../../src/index.js";
import { deferred, type Deferred } from "./deferred.js";
import { delivery } from "./deliveries.js";
import { rejects } from "./faults.js";

type Method = "claim" | "renew" | "complete" | "release";

/** Records every call before it forwards it to a real store. `faults` replace its methods. */
export function spiedStore(
  faults: Partial<DeliveryStore> = {},
  inner: DeliveryStore = memoryStore(),
) {
  const calls: { readonly method: Method; readonly key: string; readonly owner: string }[] = [];
  const faulty: DeliveryStore = { ...inner, ...faults };
  const spied = <M extends Method>(method: M) =>
    ((key: string, owner: string, ...more: never[]) => {
      calls.push({ method, key, owner });
      const call = faulty[method] as (...given: unknown[]) => unknown;
      return call.call(faulty, key, owner, ...more);
    }) as DeliveryStore[M];
  const store: DeliveryStore = {
    claim: spied("claim"),
    renew: spied("renew"),
    complete: spied("complete"),
    release: spied("release"),
  };
  return {
    calls,
    /** Number of calls of a method. */
    count: (method: Method) => calls.filter((call) => call.method === method).length,
    store,
  };
}

/** Resolves at the first call of a method. The method works as before. */
export function firstCall(store: DeliveryStore, method: Method): Promise<void> {
  const called = deferred();
  const original = store[method].bind(store) as (...call: never[]) => unknown;
  Object.assign(store, {
    [method]: (...call: never[]) => {
      called.resolve();
      return original(...call);
    },
  });
  return called.promise;
}

/** Receives a request, until it calls a method of the store. */
export async function receiveUntil(
  store: DeliveryStore,
  method: Method,
  receiver: WebhookReceiver,
  request?: Parameters<WebhookReceiver["receive"]>[0],
): Promise<{ readonly answer: Promise<WebhookResponse> }> {
  const given = request ?? (await delivery());
  const called = firstCall(store, method);
  const answer = receiver.receive(given);
  await called;
  return { answer };
}

/** A store a method of which fails whenever it is down, as it is at first, and always for the id `poison`. */
export function failingStore(method: Method, fault: () => Promise<never> = rejects) {
  const inner = memoryStore();
  let isDown = true;
  const original = inner[method].bind(inner) as (...call: unknown[]) => never;
  const spy = spiedStore(
    {
      [method]: (...call: unknown[]) =>
        isDown || call[0] === "poison" ? fault() : original(...call),
    },
    inner,
  );
  return {
    ...spy,
    inner,
    goDown: () => {
      isDown = true;
    },
    comeBack: () => {
      isDown = false;
    },
  };
}

/** A store whose completions end as the test says, one after the other. */
export function heldCompletions() {
  const ends: Deferred<void>[] = [];
  const complete = () => {
    const end = deferred();
    ends.push(end);
    return end.promise;
  };
  return { ...spiedStore({ complete }), ends };
}

/** What a platform keeps running for, by its `waitUntil`. */
export function openWork() {
  const state = { given: 0, settled: 0 };
  const open = new Set<Promise<unknown> | undefined>();
  const waitUntil = (work: Promise<unknown>) => {
    state.given += 1;
    open.add(work);
    void work.then(() => {
      state.settled += 1;
      open.delete(work);
    });
  };
  return { state, open, waitUntil };
}

/** What another process finds if it claims each of the ids. */
export function claimedElsewhere(store: DeliveryStore, ids: readonly string[]) {
  const times = { leaseMs: 1_000, retentionMs: 1_000 };
  return Promise.all(ids.map(async (id) => (await store.claim(id, "another", times)).state));
}
