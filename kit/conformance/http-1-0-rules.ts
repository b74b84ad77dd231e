import type { CaseContext } from "./case-context.js";
import type { ConformanceRule } from "./conformance-rule.js";
import { ensureAcceptsGenuine, expectAccepted, expectNotAccepted } from "./expectations.js";
import { sendRawRequest, type RawForm } from "./raw-request.js";
import type { ReceiverAnswer } from "./receiver-answer.js";
import { sendGenuine, sendPastLimiter } from "./resending.js";
import type { Delivery } from "./test-deliveries.js";
import { wrongSecret } from "./unverifiable-requests.js";

/** A proxy may pass requests on as HTTP/1.0. */
const genuineHttp10Rule: ConformanceRule = {
  id: "http_1_0",
  level: "should",
  title: "a delivery over HTTP/1.0 is acknowledged",
  why: "Some proxies speak HTTP/1.0 to the server behind them, nginx in most versions, unless it is told otherwise.",
  fix: "Let the server accept HTTP/1.0, or set the proxy to HTTP/1.1 (nginx: `proxy_http_version 1.1`).",
  needs: ["url"],
  async check(context) {
    const { url } = context.settings;
    if (url === undefined) return;
    await ensureAcceptsGenuine(context);
    const delivery = await context.deliver();
    const answer = await sendGenuine(context, delivery, () => sendHttp10(context, url, delivery));
    await expectAccepted(context, "HTTP/1.0", delivery.id, answer);
  },
};

/** A receiver may take an old protocol, or a request without a host, for a health check from inside. */
const forgedHttp10Rule: ConformanceRule = {
  id: "forged_http_1_0",
  level: "must",
  title: "a forged delivery over HTTP/1.0 is refused",
  why: "Anyone who finds the URL can choose the version of HTTP, and leave out the host.",
  fix: "Verify the signature of each request, however it arrives.",
  needs: ["url"],
  async check(context) {
    const { url } = context.settings;
    if (url === undefined) return;
    await ensureAcceptsGenuine(context);
    const [, forged] = await wrongSecret(context.deliver);
    const answer = await sendPastLimiter(context, forged, () => sendHttp10(context, url, forged));
    await expectNotAccepted(context, "HTTP/1.0", forged.id, answer);
    await expectHostlessNotHandled(context, url);
  },
};

export const http10Rules: readonly ConformanceRule[] = [genuineHttp10Rule, forgedHttp10Rule];

/** Without a host another site on the server may answer, with any status. */
async function expectHostlessNotHandled(context: CaseContext, url: URL): Promise<void> {
  const [, forged] = await wrongSecret(context.deliver);
  const { text, outcome } = await sendPastLimiter(context, forged, () =>
    sendHttp10(context, url, forged, { withoutHost: true }),
  );
  const runs = await context.runsOf(forged.id);
  if ((runs ?? 0) > 0 || outcome === "handled") {
    throw context.failure(
      "wrongly_handled",
      `HTTP/1.0 without a host: answered ${text}, and the forgery was handled`,
    );
  }
}

function sendHttp10(
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
