import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { createHandledProbe, readHandlerSwitch } from "../../../cli/doctor/probes.js";
import { loadFixtures } from "../../../kit/fixtures/load-fixtures.js";
import { replayFixtures } from "../../../kit/fixtures/replay-fixtures.js";
import { TEST_SECRET } from "../../support/deliveries.js";
import { describeService } from "../../support/describe-service.js";
import { fixturesFolder } from "../../support/fixtures.js";
import { freePort } from "../../support/free-port.js";
import { findProgram } from "../../support/server-process.js";
import { acquits, CASES, convicts, type Receiver } from "../convicts.js";
import { runCases } from "../judge.js";

type Language = "Python" | "PHP";

/** How a receiver of a language is served on `PORT`, as a partner would do it. */
interface Serving {
  readonly command: readonly [command: string, ...argv: string[]];
  readonly env?: Readonly<Record<string, string>>;
  /** The cases that its server fails, whatever the receiver does. */
  readonly serverFails: readonly string[];
}

const STARTING_MS = 30_000;
const sourceOf = (file: string): string => fileURLToPath(new URL(file, import.meta.url));

const SERVING: Readonly<Record<Language, Serving>> = {
  Python: { command: ["python3", sourceOf("receiver.py")], serverFails: [] },
  PHP: {
    command: [
      ...(["php", "-d", "display_errors=0", "-d", "log_errors=0"] as const),
      ...["-S", "127.0.0.1:PORT", sourceOf("receiver.php")],
    ],
    // One process serves one request at a time.
    env: { PHP_CLI_SERVER_WORKERS: "16" },
    // The development server never sends 100 Continue. A server in front of PHP does.
    serverFails: ["expect_continue"],
  },
};

/** Receivers by the value of FLAW: what each does. */
type Receivers = Readonly<Record<string, string>>;

/** Flaws in the words of a language, by the cases that must fail. */
type Flaws = Readonly<Record<string, Receivers>>;

const PYTHON: Flaws = {
  "exact_bytes other_bytes": {
    reserialized: "verifies json.dumps(json.loads(body))",
  },
  other_bytes_same_text: {
    decode_ignore: 'verifies body.decode("utf-8", "ignore")',
    decode_replace: 'verifies body.decode("utf-8", "replace")',
  },
  timestamp_text: {
    int_timestamp: "signs str(int(timestamp))",
  },
  guessable_secret: {
    none_secret: 'also tries str(os.environ.get("OLD"))',
  },
  "stale future": {
    timedelta_seconds: "takes timedelta.seconds, which has no days",
  },
  partial_signature: {
    sorted_digits: "compares sorted(signature)",
  },
  rare_values: {
    strptime: "reads times with strptime and without fractions",
  },
};

const PHP: Flaws = {
  "exact_bytes other_bytes": {
    reencoded: "verifies json_encode(json_decode($body))",
  },
  guessable_secret: {
    getenv_false: 'also tries getenv("OLD"), which is false',
  },
  partial_signature: {
    strcasecmp_base64: "compares base64 with strcasecmp",
    count_chars: "compares count_chars",
  },
  timestamp_text: {
    intval_timestamp: "signs intval($timestamp)",
  },
  concurrent_duplicates_handled_once: {
    file_race: "checks file_exists, touches it later",
  },
  other_bytes_same_text: {
    iconv_ignore: 'verifies iconv("UTF-8", "UTF-8//IGNORE", $body)',
  },
  "stale future": {
    date_interval: "compares $interval->h and ->i without the days",
  },
  rare_values: {
    empty_text: "drops an alarm whose text is empty() in PHP",
  },
};

/** Receivers that are right, and that do something differently. */
const HARMLESS: Readonly<Record<Language, Receivers>> = {
  Python: { "": "does what the gateway asks for", answers_204: "answers 204" },
  PHP: { "": "does what the gateway asks for", uuid_only: "takes only UUIDs as ids" },
};

for (const [kind, flaws] of [
  ["Python", PYTHON],
  ["PHP", PHP],
] as const) {
  const { command, serverFails } = SERVING[kind];
  const isThere = findProgram(command[0]) !== undefined;
  describeService(kind, isThere ? undefined : `${kind} is not installed`, () => {
    const receiversIn = (receivers: Receivers) =>
      Object.entries(receivers).map(([flaw, does]) => receiverIn(kind, flaw, does));
    convicts(kind, receiversIn, flaws);
    acquits(
      kind,
      receiversIn(HARMLESS[kind]),
      CASES.filter((id) => !serverFails.includes(id)),
    );

    it(`a replay of the published fixtures does not accuse a receiver in ${kind}`, async ({
      onTestFinished,
    }) => {
      const { origin, stop } = await startReceiver(kind);
      onTestFinished(stop);
      const { results } = await replayFixtures(
        `${origin}/webhook`,
        await loadFixtures(fixturesFolder),
        { secret: TEST_SECRET, resign: true, freshIds: true },
      );
      const different = results.filter(({ result }) => result === "different");
      expect(different.map((one) => [one.name, one.status, one.reason])).toEqual([]);
    });
  });
}

/** Judges a receiver in a process of its own, with the probes that `doctor` has. */
function receiverIn(kind: Language, flaw: string, does: string): Receiver {
  return {
    does,
    async judge(only) {
      const { origin, stop } = await startReceiver(kind, flaw);
      const control = `${origin}/control`;
      const urls = {
        "while-failing-on": `${control}/failing/on`,
        "while-failing-off": `${control}/failing/off`,
        "while-slow-on": `${control}/slow/on`,
        "while-slow-off": `${control}/slow/off`,
      };
      const probes = {
        handled: createHandledProbe(`${origin}/handled/{id}`, {}),
        whileFailing: readHandlerSwitch("while-failing", urls, {})?.during,
        whileSlow: readHandlerSwitch("while-slow", urls, {})?.during,
      };
      try {
        return await runCases({ target: `${origin}/webhook`, ...probes }, only);
      } finally {
        stop();
      }
    },
  };
}

/** Starts a receiver with a flaw, or without one, on a free port. */
async function startReceiver(kind: Language, flaw = "") {
  const { command, env } = SERVING[kind];
  const port = String(await freePort());
  const [file, ...argv] = command;
  const state = mkdtempSync(path.join(tmpdir(), "igw-language-"));
  const child = spawn(
    file,
    argv.map((part) => part.replace("PORT", port)),
    {
      env: {
        PATH: process.env["PATH"],
        ...env,
        PORT: port,
        STATE: state,
        FLAW: flaw,
        GATEWAY_WEBHOOK_SECRET: TEST_SECRET,
      },
      // A group of its own, which ends together with the workers of the server.
      detached: true,
      stdio: "ignore",
    },
  );
  const stop = () => {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, "SIGKILL");
    rmSync(state, { recursive: true, force: true });
  };
  const origin = `http://127.0.0.1:${port}`;
  try {
    await untilServing(origin, child);
  } catch (error) {
    stop();
    throw new Error(`${kind}'s receiver does not serve`, { cause: error });
  }
  return { origin, stop };
}

/** Resolves when the receiver answers. Patient, since a busy machine starts it late. */
async function untilServing(origin: string, child: ChildProcess): Promise<void> {
  const until = performance.now() + STARTING_MS;
  for (;;) {
    try {
      const response = await fetch(`${origin}/handled/none`);
      if ((await response.text()) === "0") return;
    } catch (error) {
      if (child.exitCode !== null || performance.now() > until) throw error;
    }
    await wait(25);
  }
}
