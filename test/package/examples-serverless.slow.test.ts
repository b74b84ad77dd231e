import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { queueExampleCases } from "../support/package/example-cases.js";
import { startExample, type ExampleProcess } from "../support/package/example-process.js";
import { missingMiniflare } from "../support/cloudflare/miniflare.js";
import { describeService } from "../support/describe-service.js";
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

    queueExampleCases(file, () => example);

    it(`examples/${file} ends on SIGTERM`, async () => {
      expect(await example.terminate()).toEqual([exitCode, null]);
    });
  });
}
