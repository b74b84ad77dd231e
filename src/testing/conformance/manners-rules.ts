import { randomUUID } from "node:crypto";
import type { ConformanceRule } from "./conformance-rule.js";
import { sampleText, type Delivery } from "./deliveries.js";
import { ensureNotTaken, ensureTakesGenuine, type Named } from "./expectations.js";
import { repeatsSecret } from "./repeated-secret.js";
import { headerOf, ID, SIGNATURE, withBody, withHeader } from "./request-changes.js";
import { sendPastLimiter } from "./send-genuine.js";
import { lostHeaders, rewrittenBody, unsignedRequest, wrongSecret } from "./suspect-requests.js";

/** What costs no alarm, but trust or sleep. */
export const mannersRules: readonly ConformanceRule[] = [
  {
    id: "no_server_errors",
    level: "should",
    title: "nothing unauthenticated causes a 5xx",
    why: "Anyone who finds the URL can fill your alerting, until nobody looks when a genuine alarm fails.",
    mend: "Answer 409 to what cannot be verified; it is no fault of the server.",
    async judge({ deliver, ...trial }) {
      const requests: readonly Named<Delivery>[] = [
        await wrongSecret(deliver),
        await unsignedRequest(deliver),
        await rewrittenBody(deliver),
        ...(await lostHeaders(deliver)),
        ["a signature that is none", withHeader(await deliver(), SIGNATURE, "v1=é")],
        ["an id with a colon", withHeader(await deliver(), ID, "a:b")],
        ["no JSON", withBody(await deliver(), '{"alarm":')],
        ["no body", withBody(await deliver(), "")],
        ["no webhook header at all", { ...(await deliver()), headers: [] }],
      ];
      for (const [name, request] of requests) {
        const reply = await trial.send(request);
        if (reply.answer !== undefined && reply.answer.status >= 500) {
          throw trial.failure(`${name}: expected less than 500, got ${reply.text}`);
        }
        if (reply.answer === undefined) {
          throw trial.failure(`${name}: expected an answer, got ${reply.text}`);
        }
      }
    },
  },
  {
    id: "other_methods",
    level: "should",
    title: "a delivery by another method than POST is refused",
    why: "The gateway sends POST alone; what else comes is a scanner or a mistake.",
    mend: "Answer 405 to other methods, or to GET what has nothing to do with the delivery.",
    async judge(trial) {
      await ensureTakesGenuine(trial);
      for (const method of ["GET", "HEAD"]) {
        const delivery = await trial.deliver();
        const request = { ...delivery, method, body: undefined };
        const { outcome, text } = await sendPastLimiter(trial, request);
        const runs = await trial.runsOf(delivery.id);
        // Load balancers ask for the health of a URL by these, and each answer to that is as good.
        if ((runs ?? 0) > 0 || outcome === "handled") {
          throw trial.failure(`${method}: answered ${text}, and handled`);
        }
      }
      for (const method of ["PUT", "PATCH", "DELETE"]) {
        const delivery = await trial.deliver();
        const body = method.startsWith("P") ? delivery.body : undefined;
        const reply = await sendPastLimiter(trial, { ...delivery, method, body });
        await ensureNotTaken(trial, method, delivery.id, reply);
      }
    },
  },
  {
    id: "silent_answers",
    level: "should",
    title: "an answer repeats nothing of the request",
    why: "Alarms carry national ids, e-mail addresses and IBANs: answers are logged by proxies, and kept by the gateway.",
    mend: "Answer a fixed text for each outcome; no parser message, no stack.",
    async judge(trial) {
      const { deliver } = trial;
      // Short, since parsers quote what they cannot read, but not at length.
      const marker = `m${randomUUID().slice(-12)}`;
      const body = trial.settings.types.includes("new_alarm")
        ? sampleText("new_alarm", { text: marker })
        : sampleText("delete_my_data_event", { client_id: marker });
      const requests: readonly Named<Delivery>[] = [
        ["a genuine delivery", await deliver({ body })],
        ["a forged one", await deliver({ body, secret: "whsec_of_somebody_else" })],
        ["one without a signature", withHeader(await deliver({ body }), SIGNATURE)],
        ["genuine, but no JSON", await deliver({ body: marker })],
        ["genuine, but no alarm", await deliver({ body: `{"alarm":["${marker}"]}` })],
        ["a marked header", withHeader(await deliver({ body }), SIGNATURE, `v1=${marker}`)],
      ];
      for (const [name, request] of requests) {
        const { answer, text } = await trial.send(request);
        if (answer === undefined) throw trial.failure(`${name}: expected an answer, got ${text}`);
        const said = [answer.body, ...Object.values(answer.headers)].join("\n");
        const signature = headerOf(request, SIGNATURE).slice("v1=".length);
        const repeated = [marker, signature].some((part) => part !== "" && said.includes(part));
        if (repeated || repeatsSecret(said, trial.settings.secret)) {
          throw trial.failure(`${name}: the answer repeats a part of what was sent`);
        }
      }
    },
  },
];
