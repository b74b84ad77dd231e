import { spawn, type ChildProcessByStdio } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import type { handler as LambdaHandler } from "../../examples/aws-lambda.js";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { TEST_SECRET, alarm, delivery, eventDelivery } from "../support/deliveries.js";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** A delivery of the present time, because the examples use the real clock. */
async function freshAlarm({ body = JSON.stringify({ alarm: alarm() }) } = {}) {
  const id = randomUUID();
  const { headers } = await delivery({ id, timestamp: nowSeconds(), body });
  return { id, headers, body };
}

async function freshEvent(type: string) {
  const id = randomUUID();
  const { headers, body } = await eventDelivery(type, { id, timestamp: nowSeconds() });
  return { id, headers, body: String(body) };
}

function nowSeconds(): number {
  return Math.floor(Date.now() / 1000);
}

const TAMPERED_BODY = JSON.stringify({ alarm: alarm({ account_id: 43 }) });

type Example = ChildProcessByStdio<null, Readable, Readable>;

function startExample(file: string, env: NodeJS.ProcessEnv): Example {
  return spawn(process.execPath, ["--import", "tsx", `examples/${file}`], {
    cwd: root,
    env: { ...process.env, PORT: "0", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
}

describe.each(["express.ts", "fastify.ts", "koa.ts", "hono.ts", "node.ts", "fetch.ts"])(
  "examples/%s",
  (file) => {
    let example: Example;
    let url: string;
    const printed: string[] = [];
    /** The lines that the handlers must print, in order. */
    const expected: string[] = [];

    beforeAll(async () => {
      example = startExample(file, { GATEWAY_WEBHOOK_SECRET: TEST_SECRET });
      const lines = createInterface({ input: example.stdout });
      lines.on("line", (line) => printed.push(line));
      // The output closes if the example does not start.
      await Promise.race([once(lines, "line"), once(lines, "close")]);
      url = printed[0]?.replace("listening on ", "") ?? "";
    });

    afterAll(() => {
      example.kill("SIGKILL");
    });

    async function post({ headers, body }: { headers: Record<string, string>; body: string }) {
      const response = await fetch(url, { method: "POST", headers, body });
      const answer: unknown = await response.json();
      return { status: response.status, answer };
    }

    it(`examples/${file} handles an alarm once`, async () => {
      const sent = await freshAlarm();
      expect(await post(sent)).toEqual({ status: 200, answer: { outcome: "handled" } });
      expect(await post(sent)).toEqual({ status: 200, answer: { outcome: "duplicate" } });
      expected.push(`${sent.id}: email_hacked, severity High`);
    });

    it(`examples/${file} handles Online Data events`, async () => {
      const reappeared = await freshEvent("DATA_REAPPEARED");
      const deleted = await freshEvent("DATA_DELETED");
      expect(await post(reappeared)).toEqual({ status: 200, answer: { outcome: "handled" } });
      expect(await post(deleted)).toEqual({ status: 200, answer: { outcome: "handled" } });
      const said = file === "express.ts" ? "data is back on site 7" : "DATA_REAPPEARED";
      expected.push(`${reappeared.id}: ${said}`, `${deleted.id}: DATA_DELETED`);
    });

    it(`examples/${file} refuses a delivery with a changed body`, async () => {
      const { headers } = await freshAlarm();
      expect(await post({ headers, body: TAMPERED_BODY })).toMatchObject({
        status: 409,
        answer: { error: { code: "SIGNATURE_MISMATCH" } },
      });
    });

    it(`examples/${file} exits by itself on SIGTERM, and has run its handlers only for genuine deliveries`, async () => {
      const closed = once(example, "close");
      example.kill("SIGTERM");

      expect(await closed).toEqual([0, null]);
      expect(expected).toHaveLength(3);
      expect(printed.slice(1)).toEqual(expected);
    });

    it(`examples/${file} does not start without a secret`, async () => {
      const unset = startExample(file, { GATEWAY_WEBHOOK_SECRET: undefined });
      const closed = once(unset, "close");
      const stderr = await text(unset.stderr);

      expect(await closed).toEqual([1, null]);
      expect(stderr).toContain("missing_secret");
    });
  },
);

describe("examples/aws-lambda.ts", () => {
  let handler: typeof LambdaHandler;
  const log = vi.fn();

  beforeAll(async () => {
    vi.stubEnv("GATEWAY_WEBHOOK_SECRET", TEST_SECRET);
    ({ handler } = await import("../../examples/aws-lambda.js"));
  });

  beforeEach(() => {
    vi.spyOn(console, "log").mockImplementation(log);
    vi.spyOn(console, "warn").mockImplementation(() => undefined);
  });

  afterEach(() => {
    log.mockClear();
    vi.restoreAllMocks();
  });

  afterAll(() => {
    vi.unstubAllEnvs();
  });

  it("examples/aws-lambda.ts handles a plain event of payload format 1.0 once", async () => {
    const { id, headers, body } = await freshAlarm();
    const event = { httpMethod: "POST", headers, body, isBase64Encoded: false };

    expect(await handler(event)).toEqual({
      statusCode: 200,
      headers: { "content-type": "application/json", "cache-control": "no-store" },
      body: '{"outcome":"handled"}',
    });
    expect(await handler(event)).toMatchObject({
      statusCode: 200,
      body: '{"outcome":"duplicate"}',
    });
    expect(log.mock.calls).toEqual([[`${id}: email_hacked, severity High`]]);
  });

  it("examples/aws-lambda.ts handles the exact bytes of a base64 event of payload format 2.0", async () => {
    const { headers, body } = await freshAlarm({
      body: `\uFEFF${JSON.stringify({ alarm: alarm({ text: "Ålarm – test" }) })}`,
    });
    const answer = await handler({
      requestContext: { http: { method: "POST" } },
      headers,
      body: Buffer.from(body).toString("base64"),
      isBase64Encoded: true,
    });

    expect(answer).toMatchObject({ statusCode: 200, body: '{"outcome":"handled"}' });
    expect(log).toHaveBeenCalledOnce();
  });

  it("examples/aws-lambda.ts handles an Online Data event", async () => {
    const { headers, body } = await freshEvent("DATA_DELETED");
    const answer = await handler({ httpMethod: "POST", headers, body });
    expect(answer).toMatchObject({ statusCode: 200, body: '{"outcome":"handled"}' });
  });

  it.each([
    ["plain", { body: TAMPERED_BODY, isBase64Encoded: false }],
    ["base64", { body: Buffer.from(TAMPERED_BODY).toString("base64"), isBase64Encoded: true }],
  ])("examples/aws-lambda.ts refuses a %s event with a changed body", async (_kind, tampered) => {
    const { headers } = await freshAlarm();
    const answer = await handler({ httpMethod: "POST", headers, ...tampered });
    expect(answer).toMatchObject({ statusCode: 409 });
    expect(answer.body).toContain("SIGNATURE_MISMATCH");
    expect(log).not.toHaveBeenCalled();
  });

  it("examples/aws-lambda.ts detects a header that was sent twice, although `headers` has only its last value", async () => {
    const { id, headers, body } = await freshAlarm();
    const multiValueHeaders = {
      ...Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]])),
      "x-webhook-id": [randomUUID(), id],
    };
    const answer = await handler({ httpMethod: "POST", headers, multiValueHeaders, body });
    expect(answer.body).toContain("MALFORMED");
    expect(log).not.toHaveBeenCalled();
  });

  it("examples/aws-lambda.ts answers an event without headers and body", async () => {
    expect(await handler({ httpMethod: "POST", headers: null, body: null })).toMatchObject({
      statusCode: 409,
    });
  });

  it("examples/aws-lambda.ts answers a probe of the URL, and other requests that are not deliveries", async () => {
    const answerTo = (method: string) =>
      handler({ requestContext: { http: { method } }, headers: {} });
    expect(await answerTo("GET")).toMatchObject({ statusCode: 200, body: "" });
    expect(await answerTo("PUT")).toMatchObject({
      statusCode: 405,
      headers: { allow: "GET, HEAD, POST" },
    });
  });
});
