import { randomUUID } from "node:crypto";
import type { ConformanceRules } from "./conformance-rule.js";
import { expectNotAccepted, type NamedDeliveries } from "./expectations.js";
import { headerOf, ID, SIGNATURE, withBody, withHeader } from "./request-changes.js";
import { sendPastLimiter } from "./resending.js";
import { inGroups, sampleText } from "./test-deliveries.js";
import {
  missingHeaders,
  reserializedBody,
  unsignedRequest,
  wrongSecret,
} from "./unverifiable-requests.js";

const NOT_REACHABLE =
  "The gateway creates a webhook only if its URL is reachable, and may look with GET or HEAD: answer them 200. In Express and Hono mount by app.all, not by app.post.";

/** An unauthenticated request must get no server error and no data. Other methods are refused. */
export const answerRules: ConformanceRules = {
  no_server_errors: {
    level: "should",
    title: "no unauthenticated request gets a 5xx",
    why: "Anyone who finds the URL can set off your alerting, until no one looks when a genuine alarm fails.",
    fix: "Answer 409 to a request that cannot be verified: the server is not at fault.",
    async check(context) {
      const { deliver } = context;
      const requests: NamedDeliveries = [
        await wrongSecret(deliver),
        await unsignedRequest(deliver),
        await reserializedBody(deliver),
        ...(await missingHeaders(deliver)),
        ["a signature that is not hexadecimal", withHeader(await deliver(), SIGNATURE, "v1=é")],
        ["an id with a colon", withHeader(await deliver(), ID, "a:b")],
        ["half of the JSON", withBody(await deliver(), '{"alarm":')],
        ["no body", withBody(await deliver(), "")],
        ["no webhook header at all", { ...(await deliver()), headers: [] }],
      ];
      await inGroups(context, requests, async ([name, request]) => {
        const answer = await context.send(request);
        if (answer.wire !== undefined && answer.wire.status >= 500) {
          throw context.unexpected(name, "less than 500", answer);
        }
        context.expect(answer.wire !== undefined, name, "an answer", answer);
      });
    },
  },
  other_methods: {
    level: "should",
    title: "a delivery with a method other than POST is refused",
    why: "The gateway sends only POST. Any other method is a scanner or a mistake.",
    fix: "Answer 405 to other methods, and 200 without a body to GET and HEAD.",
    async whenAccepted(context) {
      await inGroups(context, ["GET", "HEAD"], async (method) => {
        const delivery = await context.deliver();
        const request = { ...delivery, method, body: undefined };
        const answer = await sendPastLimiter(context, request);
        const { outcome, result, text, wire } = answer;
        const runs = await context.runsOf(delivery.id);
        if ((runs ?? 0) > 0 || outcome === "handled") {
          const what = "and the delivery was handled";
          throw context.failureAfter("wrongly_handled", method, answer, what);
        }
        // No failure: the gateway's document does not say how it looks whether the URL is reachable.
        if (result !== "acknowledged")
          context.note(`${method} was answered ${String(wire?.status ?? text)}. ${NOT_REACHABLE}`);
      });
      await inGroups(context, ["PUT", "PATCH", "DELETE"], async (method) => {
        const delivery = await context.deliver();
        const answer = await sendPastLimiter(context, { ...delivery, method });
        await expectNotAccepted(context, method, delivery.id, answer);
      });
    },
  },
  no_echo: {
    level: "should",
    title: "an answer repeats nothing of the request",
    why: "Alarms contain national ids, e-mail addresses and IBANs. Proxies log answers, and the gateway keeps them.",
    fix: "Answer a fixed text for each outcome, without a parser message or a stack trace.",
    async check(context) {
      const { deliver } = context;
      // Short, since parsers quote only the beginning of what they cannot read.
      const marker = `m${randomUUID().slice(-12)}`;
      const body = context.settings.types.includes("new_alarm")
        ? sampleText("new_alarm", { text: marker })
        : sampleText("delete_my_data_event", { client_id: marker });
      const requests: NamedDeliveries = [
        ["a genuine delivery", await deliver({ body })],
        ["a forged delivery", await deliver({ body, secret: "whsec_of_another_webhook" })],
        ["a delivery without a signature", withHeader(await deliver({ body }), SIGNATURE)],
        ["a genuine delivery that is not JSON", await deliver({ body: marker })],
        ["a genuine delivery without an alarm", await deliver({ body: `{"alarm":["${marker}"]}` })],
        [
          "a signature header with a marker",
          withHeader(await deliver({ body }), SIGNATURE, `v1=${marker}`),
        ],
      ];
      await inGroups(context, requests, async ([name, request]) => {
        const answer = await context.send(request);
        const { wire } = answer;
        if (wire === undefined) throw context.unexpected(name, "an answer", answer);
        const said = [wire.body, ...Object.values(wire.headers)].join("\n");
        const signature = headerOf(request, SIGNATURE).slice("v1=".length);
        const repeated = [marker, signature].some((part) => part !== "" && said.includes(part));
        if (repeated) {
          throw context.failure("echo", `${name}: the answer repeats part of the request`);
        }
      });
    },
  },
};
