import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { TEST_SECRET } from "../../../kit/signed-delivery.js";
import { EVENT_FORMS, type EventForm } from "../../support/lambda/event-forms.js";
import { deployFunction } from "../../support/lambda/lambda-function.js";
import { startFront } from "../../support/lambda/lambda-front.js";
import { startRedisServer } from "../../support/redis/redis-server.js";
import type { Platform, RunningPlatform } from "../platform.js";

const here = (file: string): string => fileURLToPath(new URL(file, import.meta.url));

/** Longer than the runner makes a handler slow. Its instances are frozen between invocations. */
const TIMEOUT_MS = 10_000;
const INSTANCES = 3;

/** Compiles the handler against AWS's own types. Throws with the compiler's errors. */
function checkTypes(): void {
  const tsc = here("../../../node_modules/typescript/bin/tsc");
  execFileSync(process.execPath, [tsc, "-p", here(".")], { stdio: "pipe", encoding: "utf8" });
}

/** The function on a Runtime API, behind a front that makes events of one form. */
async function start(form: EventForm, ledgerUrl: string): Promise<RunningPlatform> {
  checkTypes();
  const redis = await startRedisServer();
  const deployed = await deployFunction({
    source: here("function.mjs"),
    instances: INSTANCES,
    timeoutMs: TIMEOUT_MS,
    environment: {
      GATEWAY_WEBHOOK_SECRET: TEST_SECRET,
      LEDGER_URL: ledgerUrl,
      REDIS_URL: redis.url,
    },
    // As a partner's project has them, and not as the repository's tsconfig.json does.
    build: { tsconfigRaw: "{}" },
  });
  const front = await startFront(form, deployed.invoke);
  return {
    target: front.url,
    async stop() {
      await front.close();
      await deployed.stop();
      await redis.close();
    },
  };
}

const HIDES_REPEATS =
  "passes on only the last value of a header that was sent twice: that one is signed, or refused";
const TOO_LARGE = "413 to a body over 1 MB: the gateway's deliveries are far smaller";

function ownAnswersOf({ hidesRepeats, maxBodyBytes }: EventForm): Record<string, string> {
  return {
    ...(hidesRepeats === true ? { repeated_headers: HIDES_REPEATS } : {}),
    ...(maxBodyBytes === undefined ? {} : { unlisted_statuses: TOO_LARGE }),
  };
}

/** One row for each form of event. */
export const rows: readonly Platform[] = EVENT_FORMS.map((form) => ({
  name: `AWS Lambda, ${form.name}`,
  folder: "lambda",
  version: () => `Node ${process.versions.node}`,
  app: "function.mjs",
  ownAnswers: ownAnswersOf(form),
  start: (ledgerUrl) => start(form, ledgerUrl),
}));
