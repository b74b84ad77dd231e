import { gzipSync } from "node:zlib";
import type { ConformanceRules } from "./conformance-rule.js";
import { sendRawRequest } from "./connections.js";
import { isRetried } from "./receiver-answer.js";
import { markedText, wrongSecret, type NamedDeliveries } from "./test-deliveries.js";
import {
  expectNoOtherRoute,
  expectSameIdDoesNoHarm,
  expectQueryNotTrusted,
  expectUploadsToldApart,
  HTTP_1_0,
  INVALID_HEADERS,
  sendRaw,
  sendWithPause,
} from "./transport-checks.js";

/** How far beyond the receiver's limit a body is that no receiver should accept: 16 MiB. */
const BEYOND_BYTES = 16 * 1_048_576;
const BIG = new Uint8Array(100_000).fill(0x20);

/** Bodies in pieces, interrupted uploads, reused connections and odd requests must do no harm. */
export const transportRules: ConformanceRules = {
  split_characters: {
    title: "a character that is split between two packets is read correctly",
    why: "A receiver that decodes each packet separately refuses an alarm whenever a packet ends inside a character such as å.",
    fix: "Collect all bytes first, then decode them.",
    cause: "bytes",
    async onConnection(context, connection) {
      const body = markedText(context.settings.types, "å警🔔".repeat(20));
      const delivery = await context.deliver({ body });
      const pieces = Array.from(delivery.body, (byte) => Uint8Array.of(byte));
      const send = () => connection.send(delivery, pieces);
      await context.accept("a body byte by byte", delivery, () => context.sendBy(delivery, send));
    },
  },
  broken_upload: {
    title: "an interrupted upload is not handled and does no harm",
    why: "Half an alarm would be handled, or an unhandled error would end the process.",
    fix: "Wait for the end of the body, and handle its error event.",
    cause: "fix",
    async onConnection(context, connection) {
      const delivery = await context.deliver();
      await connection.sendCutBody(delivery, 10);
      // Some ask for the memory before they look at anything else.
      await connection.sendCutBody(await context.deliver(), 10 ** 14);
      await context.expectStillAccepts("an interrupted upload");
      const runs = await context.runsOf(delivery.id);
      if (runs !== undefined && runs > 0)
        throw context.failure("wrongly_handled", "the interrupted upload was handled");
      await context.expectAllAccepted([["the complete delivery", delivery]]);
    },
  },
  keep_alive: {
    title: "after a refusal the connection accepts the next request or is closed",
    why: "An unread body is taken for the next request, so the alarm after it on the same connection fails.",
    fix: "Read a refused body to its end, or answer with `Connection: close`.",
    async onConnection(context, connection) {
      const [, forged] = await wrongSecret(context.deliver);
      const refused: NamedDeliveries = [
        ["PUT", forged.withBody(BIG).with({ method: "PUT" })],
        ["a forged body", forged.withBody(BIG)],
        ["no webhook header", forged.withBody(BIG).with({ headers: [] })],
      ];
      for (const [name, request] of refused) {
        await context.sendBy(request, () => connection.send(request));
        const delivery = await context.deliver();
        await context.accept(`a genuine delivery after ${name}`, delivery, () =>
          context.sendBy(delivery, () => connection.send(delivery)),
        );
      }
    },
  },
  expect_continue: {
    level: "should",
    title: "a client that waits for 100 Continue gets it",
    why: "Some HTTP clients send a big body only after 100 Continue, and give up without it.",
    fix: "Let the server answer `Expect: 100-continue`. Most servers do so by default.",
    cause: "fix",
    async onConnection(context, connection) {
      const delivery = await context.deliver();
      let wasAsked: boolean | undefined;
      const send = async () => {
        const { hasAsked, ...answer } = await connection.sendWithExpect(delivery);
        wasAsked = hasAsked;
        return answer;
      };
      await context.accept("Expect: 100-continue", delivery, () => context.sendBy(delivery, send));
      if (wasAsked === false) {
        const what = "100 Continue never came, so the body was sent without it";
        throw context.failure("no_continue", `Expect: 100-continue: ${what}`);
      }
    },
  },
  interleaved_uploads: {
    title: "uploads that arrive at the same time are told apart",
    why: "If requests share a buffer, the alarms of slow connections are mixed up, and each of them is refused or lost.",
    fix: "Keep the bytes of a body in a variable of its own request.",
    cause: "fix",
    runsAlone: true,
    atUrl: expectUploadsToldApart,
  },
  largest_body: {
    level: "should",
    title: "a body just below the limit is acknowledged",
    why: "The gateway's document names no largest alarm. One above the limit is refused at every attempt, and then lost.",
    fix: "Read bodies up to 1 MiB. If your limit is another one on purpose, name it in maxBodyBytes (doctor: --max-body-bytes).",
    cause: "size",
    accept: (context) =>
      context.ofEachType(async (deliver) => {
        const body = (await deliver()).text.padStart(context.settings.maxBodyBytes - 1);
        return [["just below the limit", await deliver({ body })]];
      }),
  },
  unlimited_body: {
    level: "should",
    title: "a body of many megabytes is refused, also without Content-Length or compressed",
    why: "Without a limit a few requests can fill the receiver's memory. Anyone who finds the URL can send them.",
    fix: "Count the bytes while you read, and answer 409 at a limit. Content-Length is not enough: a chunked body has none, and a compressed one is short.",
    cause: "size",
    runsAlone: true,
    async atUrl(context) {
      const delivery = await context.deliver();
      const padding = new Uint8Array(2 * context.settings.maxBodyBytes + BEYOND_BYTES).fill(0x20);
      const body = Buffer.concat([padding, delivery.body]);
      // Only a signed body shows that the receiver has read all of it: it might also refuse what it drops.
      const signed = delivery.withBody(body).signedWith();
      const packed = signed.withBody(gzipSync(body)).withHeader("Content-Encoding", "gzip");
      for (const [form, request] of [
        ["in chunks", signed.with({ chunked: true })],
        ["compressed", packed],
      ] as const) {
        const answer = await context.send(request);
        const name = `a body of ${body.length} bytes, ${form}`;
        context.expect(answer.result !== "acknowledged", name, "a refusal", answer);
      }
      await context.expectStillAccepts("a body of many megabytes");
    },
  },
  stalled_upload: {
    title: "genuine deliveries are handled while another upload stands still, and so is that one",
    why: "A slow connection, or someone who opens one and sends nothing, holds up every alarm behind it. An upload that is given a final status, or is cut off and handled in part, loses its own.",
    fix: "Read each body on its own, with more than one worker or asynchronously, and answer 408 or close the connection when an upload takes too long.",
    async onConnection(context, connection) {
      const [stalled, answer] = await sendWithPause(context, connection, async () => {
        for (const type of context.settings.types) {
          const delivery = await context.deliver({ type });
          const send = () => context.sendAlone(delivery);
          await context.accept("a delivery beside a stalled upload", delivery, send);
        }
      });
      if (!isRetried(answer))
        await context.expectAccepted("the stalled upload", stalled.id, answer);
    },
  },
  paused_upload: {
    level: "should",
    title: "a delivery whose upload pauses for two seconds is acknowledged",
    why: "Packets get lost and are sent again seconds later. A limit of a second refuses each attempt over such a network.",
    fix: "Allow ten seconds of silence or more within an upload.",
    async onConnection(context, connection) {
      const [{ id }, answer] = await sendWithPause(context, connection);
      await context.expectAccepted("an upload with a pause", id, answer);
    },
  },
  invalid_header_bytes: {
    title:
      "bytes that are invalid in a header are refused, and neither they nor a second id do harm",
    why: "A server that changes them may turn them into another id or signature. A receiver that verifies one id and remembers the other handles a captured delivery again.",
    fix: "Use a server with a strict HTTP parser, and keep it up to date.",
    cause: "headers",
    async atUrl(context, url) {
      await context.inGroups(INVALID_HEADERS, async ([name, header, change]) => {
        const delivery = await context.deliver();
        const changed = delivery.withHeader(header, change(delivery.header(header)));
        await context.refuse(name, changed, () => sendRaw(context, url, changed));
      });
      await expectSameIdDoesNoHarm(context, url);
      await context.expectStillAccepts("invalid header bytes");
    },
  },
  http_1_0: {
    level: "should",
    title: "a delivery over HTTP/1.0 is acknowledged",
    why: "Some proxies speak HTTP/1.0 to the server behind them, nginx in most versions, unless it is told otherwise.",
    fix: "Let the server accept HTTP/1.0, or set the proxy to HTTP/1.1 (nginx: `proxy_http_version 1.1`).",
    cause: "acceptance",
    async atUrl(context, url) {
      const delivery = await context.deliver();
      const send = () => sendRaw(context, url, delivery, HTTP_1_0);
      await context.accept("HTTP/1.0", delivery, send);
    },
  },
  forged_http_1_0: {
    title:
      "a forged delivery is refused over HTTP/1.0 too, and whatever its method, path, host and query are",
    why: "Anyone who finds the URL can choose the version of HTTP, the method, the host and the query. Frameworks also route other spellings of the path to the receiver.",
    fix: "Verify the signature of each request, however it arrives.",
    cause: "forgery",
    async atUrl(context, url) {
      const [, forged] = await wrongSecret(context.deliver);
      const send = () => sendRaw(context, url, forged, HTTP_1_0);
      await context.refuse("HTTP/1.0", forged, send);
      await expectQueryNotTrusted(context, url);
      await expectNoOtherRoute(context, url);
    },
  },
  other_paths: {
    level: "should",
    title: "a delivery to a path that is not the receiver's is not acknowledged",
    why: "A typing error in the registered URL, or a prefix that a proxy cuts off, sends the alarms beside the receiver. A server that answers 200 there, such as one with a page for every path, loses each of them without a trace.",
    fix: "Answer 404 to a POST to an unknown path: let the page for every path answer GET alone.",
    cause: "others",
    async atUrl(context, url) {
      await context.ensureAcceptsGenuine();
      const delivery = await context.deliver();
      const beside = new URL(url);
      beside.pathname += "-unknown";
      const send = () => sendRawRequest(beside, context.settings, delivery);
      const answer = await context.sendBy(delivery, send);
      // A receiver may serve every path.
      if (answer.result !== "acknowledged" || answer.outcome === "handled") return;
      const runs = await context.settledRunsOf(delivery.id);
      if (runs === undefined) context.leaveUnjudged("handled");
      if (runs === 0)
        throw context.failureAfter("not_handled", beside.pathname, answer, "but not handled");
    },
  },
};
