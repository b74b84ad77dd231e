import { setTimeout as wait } from "node:timers/promises";
import { madeUpDeliveryId } from "../random.js";
import type { CaseContext } from "./case-context.js";
import { KeptConnection, sendRawRequest, type RawForm } from "./connections.js";
import { expectEachHandledOnce } from "./duplicates.js";
import { isRetried, saysLater, type ReceiverAnswer } from "./receiver-answer.js";
import {
  each,
  ID,
  OTHER_SECRET,
  SIGNATURE,
  TIMESTAMP,
  wrongSecret,
  type Delivery,
} from "./test-deliveries.js";

/** How many uploads are under way at the same time. */
const UPLOADS = 8;
/** How long the first of them wait for the others, which a small server may not take yet. */
const GATHER_MS = 3_000;
/** How long all of that takes on a machine under load. */
const TOGETHER_MS = 3 * GATHER_MS;

/** Waits in small steps, since the receiver may be in this process and needs its turns. */
async function whileReceiverReads(): Promise<void> {
  for (let step = 0; step < 30; step++) await wait(15);
}

/** Opens a connection for each delivery, sends the first halves of all bodies, then the second ones. */
export async function sendTogether(
  context: CaseContext,
  url: URL,
  count: number,
): Promise<readonly (readonly [Delivery, ReceiverAnswer])[]> {
  let atHalf = 0;
  let gathered = (): void => undefined;
  const all = new Promise<void>((resolve) => (gathered = resolve));
  const isLate = wait(GATHER_MS, undefined, { ref: false });
  const go = Promise.race([all, isLate]).then(whileReceiverReads);
  const halfway = (): Promise<void> => {
    if (++atHalf === count) gathered();
    return go;
  };
  return each(await context.ofAllTypes(count), async (delivery) => {
    const connection = new KeptConnection(url, context.settings);
    const send = () => connection.sendInHalves(delivery, halfway, TOGETHER_MS);
    const answer = await context.sendBy(delivery, send);
    connection.close();
    return [delivery, answer] as const;
  });
}

export async function expectUploadsToldApart(context: CaseContext, url: URL): Promise<void> {
  const pairs = await sendTogether(context, url, UPLOADS);
  // A receiver that is busy may refuse some of them, but not all.
  if (pairs.every(([, answer]) => isRetried(answer) && !saysLater(answer))) {
    const text = pairs[0]?.[1].text ?? "";
    const message = `none of ${UPLOADS} uploads at the same time was accepted: ${text}`;
    throw context.failure("not_accepted", message);
  }
  await expectEachHandledOnce(context, pairs, "at the same time");
}

/** No network between two servers pauses longer, as long as it works. */
const PAUSE_MS = 2_000;

/** Sends a delivery of which half the body comes after a pause, and does something meanwhile. */
export async function sendWithPause(
  context: CaseContext,
  connection: KeptConnection,
  meanwhile: () => Promise<void> = () => Promise.resolve(),
): Promise<readonly [Delivery, ReceiverAnswer]> {
  const delivery = await context.deliver();
  // Before the others run out of time.
  const limitMs = Math.max(PAUSE_MS, 0.7 * context.settings.timeoutMs);
  let work: Promise<void> = Promise.resolve();
  const seen = { isLate: false };
  const pause = async (): Promise<void> => {
    work = meanwhile();
    const isOver = Promise.allSettled([work, wait(PAUSE_MS)]).then(() => false);
    seen.isLate = await Promise.race([isOver, wait(limitMs, true, { ref: false })]);
  };
  const send = () => connection.sendInHalves(delivery, pause, limitMs);
  const answer = await context.sendBy(delivery, send);
  if (seen.isLate) {
    const message = `a delivery beside a stalled upload: no answer in ${limitMs} ms`;
    throw context.failure("no_answer", message);
  }
  await work;
  return [delivery, answer];
}

/** Parameters that switch checks off in real receivers, or bring the secret that is then compared. */
const QUERY = (
  "test debug dev dry_run mock simulate skip skip_signature skip_verification no_verify internal admin bypass healthcheck " +
  "secret webhook_secret signing_secret signature_secret client_secret key api_key apikey token access_token auth sig signature"
).split(" ");

/** Parameters that stand for a header in real receivers. */
const QUERY_IDS = ["id", "webhook_id", "event_id", "delivery_id", "x-webhook-id"];
const QUERY_TIMES = ["timestamp", "ts", "t", "webhook_timestamp", "x-webhook-timestamp"];

export async function expectQueryNotTrusted(context: CaseContext, url: URL): Promise<void> {
  await context.inGroups(["1", "true", OTHER_SECRET], async (value) => {
    const changed = new URL(url);
    for (const name of QUERY) changed.searchParams.set(name, value);
    const [, forged] = await wrongSecret(context.deliver);
    const send = () => sendRaw(context, changed, forged);
    await context.refuse(`the query ${changed.search}`, forged, send);
  });
  const [captured, other] = [await context.deliver(), await context.deliver()];
  await context.accept("a delivery", captured);
  const changed = new URL(url);
  for (const name of QUERY_IDS) changed.searchParams.set(name, other.id);
  for (const name of QUERY_TIMES) changed.searchParams.set(name, other.header(TIMESTAMP));
  const answer = await context.sendPastLimiter(captured, () => sendRaw(context, changed, captured));
  const isHandled = ((await context.runsOf(other.id)) ?? 0) > 0 || answer.outcome === "handled";
  if (!isHandled) return;
  const name = "a captured delivery with another id in the query";
  throw context.failureAfter("wrongly_handled", name, answer, "and it was handled again");
}

type Route = readonly [name: string, method: string, path: string, form?: RawForm];

/** Ways to a receiver that its guard may not watch, although its route does. */
const otherRoutes = ({ pathname }: URL): readonly Route[] => [
  ["HTTP/1.0 without a host", "POST", pathname, { host: "", version: "1.0" }],
  ["the host localhost", "POST", pathname, { host: "localhost" }],
  ["the host 127.0.0.1", "POST", pathname, { host: "127.0.0.1" }],
  ...["GET", "OPTIONS", "PUT", "PATCH", "DELETE"].map((method): Route => {
    return [`${method} with a body`, method, pathname];
  }),
  ...[`${pathname}/`, `/${pathname}`, pathname.toUpperCase(), encoded(pathname), "//", "/%"].map(
    (path): Route => [`the path ${path}`, "POST", path],
  ),
];

/** A path with its last letter in percent-encoding, which routers decode and guards may not. */
const encoded = (path: string): string =>
  path.replace(/[a-z]$/i, (last) => `%${last.charCodeAt(0).toString(16)}`);

/** Another route, or another site on the server, may answer there with any status. The effect counts alone. */
export async function expectNoOtherRoute(context: CaseContext, url: URL): Promise<void> {
  await context.inGroups(otherRoutes(url), async ([name, method, path, form]) => {
    const forged = (await wrongSecret(context.deliver))[1].with({ method });
    const at = new URL(url);
    at.pathname = path;
    const answer = await context.sendPastLimiter(forged, () => sendRaw(context, at, forged, form));
    const runs = await context.runsOf(forged.id);
    if ((runs ?? 0) > 0 || answer.outcome === "handled") {
      throw context.failureAfter("wrongly_handled", name, answer, "and the forgery was handled");
    }
  });
  await context.expectStillAccepts("requests to other paths");
}

/** Sends a delivery byte for byte, with header lines that no HTTP client would write. */
export function sendRaw(
  context: CaseContext,
  url: URL,
  delivery: Delivery,
  form?: RawForm,
): Promise<ReceiverAnswer> {
  return context.sendBy(
    delivery,
    () => sendRawRequest(url, context.settings, delivery, form),
    true,
  );
}

/**
 * A proxy may pass requests on as HTTP/1.0. A receiver may take an old protocol, or a request without a host, for a
 * health check from inside.
 */
export const HTTP_1_0: RawForm = { version: "1.0" };

/** Header lines that no HTTP client would send must do no harm. */
export const INVALID_HEADERS: readonly (readonly [
  name: string,
  header: string,
  change: (value: string) => string,
])[] = [
  ["a control character in the id", ID, (value) => `${value}\u0001`],
  ["a byte beyond ASCII in the id", ID, (value) => `${value}\u00e9`],
  [
    "a signature folded over two lines",
    SIGNATURE,
    (value) => `${value.slice(0, 20)}\r\n ${value.slice(20)}`,
  ],
];

/**
 * Some servers end the id at a NUL, some receivers sign it in lower case, and some verify one of two ids. That is harmless
 * as long as it is the same id to them: under another one a captured delivery would be handled again.
 */
export async function expectSameIdDoesNoHarm(context: CaseContext, url: URL): Promise<void> {
  for (const [name, headers, values] of SPELLINGS) {
    const delivery = await context.deliver();
    await context.accept("a delivery", delivery);
    const ids = values(delivery.id, madeUpDeliveryId());
    const lines = headers.map((header, at) => [header, ids[at] ?? ""] as const);
    const respelt = delivery.withHeader(ID).withMore(lines);
    // A column of UUIDs may count both spellings as one.
    const count = async () => {
      const names = new Set([delivery.id, ...ids, ids.join(", ")]);
      const runs = await each([...names], (id) => context.runsOf(id));
      return runs.reduce<number>((sum, one = 0) => sum + one, 0);
    };
    const before = await count();
    const answer = await context.sendPastLimiter(respelt, () => sendRaw(context, url, respelt));
    if (answer.outcome === "handled" || (await count()) > before) {
      const what = "and the delivery was handled again";
      throw context.failureAfter("id_changed", name, answer, what);
    }
    if (answer.result === "acknowledged") context.trustOutcome(answer, "duplicate");
  }
}

type Spelling = readonly [
  name: string,
  headers: readonly string[],
  values: (id: string, other: string) => readonly string[],
];

const SPELLINGS: readonly Spelling[] = [
  ["a NUL after the id", [ID], (id) => [`${id}\u0000`]],
  ["the id in capitals", [ID], (id) => [id.toUpperCase()]],
  ["another id after it", [ID, ID], (id, other) => [id, other]],
  ["another id before it", [ID, ID], (id, other) => [other, id]],
  // CGI and WSGI do not tell it from the right name.
  ["another id in X_Webhook_Id", [ID, "X_Webhook_Id"], (id, other) => [id, other]],
];
