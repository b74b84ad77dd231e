import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { alarm } from "../support/deliveries.js";
import {
  DUPLICATE,
  HANDLED,
  freshAlarm,
  freshEvent,
  post,
  startExample,
  type ExampleProcess,
} from "../support/package/example-process.js";

describe.each(["express.ts", "fastify.ts", "koa.ts", "hono.ts", "node.ts", "fetch.ts"])(
  "examples/%s",
  (file) => {
    let example: ExampleProcess;
    /** The lines that the handlers must print, in order. */
    const expected: string[] = [];

    beforeAll(async () => {
      example = await startExample(file);
    });
    afterAll(() => example.kill());

    it(`examples/${file} handles an alarm once`, async () => {
      const sent = await freshAlarm();
      expect(await post(example.url, sent)).toEqual(HANDLED);
      expect(await post(example.url, sent)).toEqual(DUPLICATE);
      expected.push(`${sent.id}: email_hacked, severity High`);
    });

    it(`examples/${file} handles Online Data events`, async () => {
      const reappeared = await freshEvent("DATA_REAPPEARED");
      const deleted = await freshEvent("DATA_DELETED");
      expect(await post(example.url, reappeared)).toEqual(HANDLED);
      expect(await post(example.url, deleted)).toEqual(HANDLED);
      const said = file === "express.ts" ? "data is back on site 7" : "DATA_REAPPEARED";
      expected.push(`${reappeared.id}: ${said}`, `${deleted.id}: DATA_DELETED`);
    });

    it(`examples/${file} refuses a delivery with a changed body`, async () => {
      const body = JSON.stringify({ alarm: alarm({ account_id: 43 }) });
      expect(await post(example.url, { ...(await freshAlarm()), body })).toMatchObject({
        status: 409,
        error: { code: "SIGNATURE_MISMATCH" },
      });
    });

    it(`examples/${file} exits by itself on SIGTERM, and has run its handlers only for genuine deliveries`, async () => {
      expect(await example.terminate()).toEqual([0, null]);
      expect(expected).toHaveLength(3);
      expect(example.printed).toEqual(expected);
    });

    it(`examples/${file} does not start without a secret`, async () => {
      const starting = startExample(file, { GATEWAY_WEBHOOK_SECRET: undefined });
      await expect(starting).rejects.toThrow(/^exit code 1: [^]*missing_secret/);
    });
  },
);
