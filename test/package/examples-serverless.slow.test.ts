import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  DUPLICATE,
  HANDLED,
  freshAlarm,
  freshEvent,
  post,
  startExample,
  type ExampleProcess,
} from "../support/package/example-process.js";
import { missingMiniflare } from "../support/cloudflare/miniflare.js";
import { describeService } from "../support/describe-service.js";
import { eventually } from "../support/listening-receiver.js";
import { installPlatform } from "../support/platform-packages.js";

const STARTERS = [
  ["lambda-sqs.ts", "demo/lambda.ts", ["sqs", "dynamodb"], 0, describe],
  [
    ...(["workers-queues-d1.ts", "demo/workers.ts", ["cloudflare"], 143] as const),
    (title: string, body: () => void) => describeService(title, missingMiniflare, body),
  ],
] as const;

for (const [file, starter, packages, exitCode, describeExample] of STARTERS) {
  describeExample(`examples/${file}`, () => {
    let example: ExampleProcess;
    beforeAll(async () => {
      // The starter says that it installs them, if they are missing.
      await Promise.all(packages.map(installPlatform));
      example = await startExample(starter);
    });
    afterAll(() => example.kill());

    it(`examples/${file} acknowledges an alarm, and handles it once from the queue`, async () => {
      const sent = await freshAlarm();
      expect(await post(example.url, sent)).toEqual(HANDLED);
      expect(await post(example.url, sent)).toEqual(DUPLICATE);
      const line = `${sent.id}: email_hacked, severity High`;
      await eventually(() => example.printed).toContain(line);
      const event = await freshEvent("DATA_REAPPEARED");
      expect(await post(example.url, event)).toEqual(HANDLED);
      await eventually(() => example.printed).toContain(`${event.id}: DATA_REAPPEARED`);
      expect(example.printed.filter((printed) => printed === line)).toHaveLength(1);
    });

    it(`examples/${file} refuses a delivery with a wrong signature, and finds nothing at another path`, async () => {
      const sent = await freshAlarm();
      const tampered = { ...sent, body: sent.body.replace("42", "43") };
      const refusal = { status: 409, error: { code: "SIGNATURE_MISMATCH" } };
      expect(await post(example.url, tampered)).toMatchObject(refusal);
      expect((await fetch(new URL("/", example.url), sent)).status).toBe(404);
    });

    it(`examples/${file} ends on SIGTERM`, async () => {
      expect(await example.terminate()).toEqual([exitCode, null]);
    });
  });
}
