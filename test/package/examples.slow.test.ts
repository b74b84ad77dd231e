import { spawn, type ChildProcessByStdio } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TEST_SECRET, alarm, delivery, eventDelivery } from "../support/deliveries.js";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** A delivery of the present time, because the examples use the real clock. */
async function freshAlarm() {
  const id = randomUUID();
  const body = JSON.stringify({ alarm: alarm() });
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
