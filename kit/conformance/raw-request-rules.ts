import type { CaseContext } from "./case-context.js";
import type { ConformanceRules } from "./conformance-rule.js";
import { expectAccepted, expectNotAccepted, expectStillAccepts } from "./expectations.js";
import { sendRawRequest, type RawForm } from "./raw-request.js";
import type { ReceiverAnswer } from "./receiver-answer.js";
import { ID, SIGNATURE } from "./request-changes.js";
import { sendGenuine, sendPastLimiter } from "./resending.js";
import { inGroups, type Delivery } from "./test-deliveries.js";
import { wrongSecret } from "./unverifiable-requests.js";

/**
 * A proxy may pass requests on as HTTP/1.0. A receiver may take an old protocol, or a request without a host, for a
 * health check from inside.
 */
export const http10Rules: ConformanceRules = {
  http_1_0: {
    level: "should",
    title: "a delivery over HTTP/1.0 is acknowledged",
    why: "Some proxies speak HTTP/1.0 to the server behind them, nginx in most versions, unless it is told otherwise.",
    fix: "Let the server accept HTTP/1.0, or set the proxy to HTTP/1.1 (nginx: `proxy_http_version 1.1`).",
    async atUrl(context, url) {
      const delivery = await context.deliver();
      const answer = await sendGenuine(context, delivery, () => sendRaw(context, url, delivery));
      await expectAccepted(context, "HTTP/1.0", delivery.id, answer);
    },
  },
  forged_http_1_0: {
    title: "a forged delivery is refused over HTTP/1.0 too, and whatever its host and query are",
    why: "Anyone who finds the URL can choose the version of HTTP, the host and the query.",
    fix: "Verify the signature of each request, however it arrives.",
    async atUrl(context, url) {
      const [, forged] = await wrongSecret(context.deliver);
      const answer = await sendPastLimiter(context, forged, () => sendRaw(context, url, forged));
      await expectNotAccepted(context, "HTTP/1.0", forged.id, answer);
      await expectQueryNotTrusted(context, url);
      await inGroups(context, ["", "localhost", "127.0.0.1"], (host) =>
        expectOtherHostNotHandled(context, url, host),
      );
    },
  },
};

/** Parameters that switch checks off in real receivers. */
const QUERY =
  "test debug dev dry_run mock skip skip_signature skip_verification no_verify internal admin bypass healthcheck".split(
    " ",
  );

async function expectQueryNotTrusted(context: CaseContext, url: URL): Promise<void> {
  await inGroups(context, ["1", "true"], async (value) => {
    const changed = new URL(url);
    for (const name of QUERY) changed.searchParams.set(name, value);
    const [, forged] = await wrongSecret(context.deliver);
    const answer = await sendPastLimiter(context, forged, () =>
      sendRaw(context, changed, forged, { version: "1.1" }),
    );
    await expectNotAccepted(context, `the query ${changed.search}`, forged.id, answer);
  });
}

/** For another host, or for none, another site on the server may answer, with any status. */
async function expectOtherHostNotHandled(
  context: CaseContext,
  url: URL,
  host: string,
): Promise<void> {
  const [, forged] = await wrongSecret(context.deliver);
  const form: RawForm = { host, version: host === "" ? "1.0" : "1.1" };
  const answer = await sendPastLimiter(context, forged, () => sendRaw(context, url, forged, form));
  const runs = await context.runsOf(forged.id);
  if ((runs ?? 0) > 0 || answer.outcome === "handled") {
    const name = host === "" ? "HTTP/1.0 without a host" : `the host ${host}`;
    throw context.failureAfter("wrongly_handled", name, answer, "and the forgery was handled");
  }
}

function sendRaw(
  context: CaseContext,
  url: URL,
  delivery: Delivery,
  form: RawForm = {},
): Promise<ReceiverAnswer> {
  const lines = delivery.headers.map(([name, value]) => `${name}: ${value}`);
  return context.sendBy(delivery, () =>
    sendRawRequest(url, context.settings, delivery, lines, { version: "1.0", ...form }),
  );
}

type ChangeLine = (name: string, value: string) => string;

const INVALID_LINES: readonly (readonly [name: string, change: ChangeLine])[] = [
  ["a control character in the id", changing(ID, (value) => `${value}\u0001`)],
  ["a byte beyond ASCII in the id", changing(ID, (value) => `${value}\u00e9`)],
  [
    "a signature folded over two lines",
    changing(SIGNATURE, (value) => `${value.slice(0, 20)}\r\n ${value.slice(20)}`),
  ],
];

const addNul = changing(ID, (value) => `${value}\u0000`);

/** Header lines that no HTTP client would send must do no harm. */
export const invalidHeaderRules: ConformanceRules = {
  invalid_header_bytes: {
    title: "bytes that are invalid in a header are refused and do no harm",
    why: "A server that changes them may turn them into another id or signature.",
    fix: "Use a server with a strict HTTP parser, and keep it up to date.",
    async atUrl(context, url) {
      await inGroups(context, INVALID_LINES, async ([name, change]) => {
        const delivery = await context.deliver();
        const answer = await sendChanged(context, url, delivery, change);
        await expectNotAccepted(context, name, delivery.id, answer);
      });
      await expectNulDoesNoHarm(context, url);
      await expectStillAccepts(context, "invalid header bytes");
    },
  },
};

/** Some servers end the id at a NUL. That is harmless, since the rest is the id that was signed. */
async function expectNulDoesNoHarm(context: CaseContext, url: URL): Promise<void> {
  const delivery = await context.deliver();
  await expectAccepted(context, "a delivery", delivery.id, await sendGenuine(context, delivery));
  const answer = await sendChanged(context, url, delivery, addNul);
  const runs = await context.runsOf(delivery.id);
  const runsWithNul = await context.runsOf(`${delivery.id}\u0000`);
  if (runs === undefined || runsWithNul === undefined) {
    if (answer.result === "acknowledged") context.leaveUnjudged("handled");
  } else if (runs + runsWithNul !== 1) {
    const what = "and the delivery was handled again";
    throw context.failureAfter("id_changed", "a NUL after the id", answer, what);
  }
}

function sendChanged(
  context: CaseContext,
  url: URL,
  delivery: Delivery,
  change: ChangeLine,
): Promise<ReceiverAnswer> {
  const lines = delivery.headers.map(([header, value]) => change(header, value));
  return sendPastLimiter(context, delivery, () =>
    context.sendBy(delivery, () => sendRawRequest(url, context.settings, delivery, lines)),
  );
}

function changing(changed: string, change: (value: string) => string): ChangeLine {
  return (name, value) => `${name}: ${name === changed ? change(value) : value}`;
}
