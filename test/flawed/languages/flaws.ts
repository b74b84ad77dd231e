import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createHandledProbe, readHandlerSwitch } from "../../../cli/doctor/probes.js";
import { receiverConformance } from "../../../kit/conformance/receiver-conformance.js";
import { TEST_SECRET } from "../../support/deliveries.js";
import { freePort } from "../../support/free-port.js";
import type { Flawed, Receiver } from "../flaws.js";
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

/** A flaw in the words of a language: the value of FLAW, what the receiver does, and the cases that must fail. */
type Row = readonly [flaw: string, does: string, ...caughtBy: string[]];

const PYTHON: readonly Row[] = [
  ["reserialized", "verifies json.dumps(json.loads(body))", "exact_bytes", "other_bytes"],
  ["decode_ignore", 'verifies body.decode("utf-8", "ignore")', "other_bytes_same_text"],
  ["decode_replace", 'verifies body.decode("utf-8", "replace")', "other_bytes_same_text"],
  ["int_timestamp", "signs str(int(timestamp))", "timestamp_text"],
  ["empty_old_secret", 'also tries os.environ.get("OLD", "")', "guessable_secret"],
  ["none_secret", 'also tries str(os.environ.get("OLD"))', "guessable_secret"],
  ["answers_signature", "answers the signature that it expected", "leaked_signature"],
  ["module_variable", "keeps the id in a variable of the module", "concurrent_deliveries"],
  ["check_then_act", "looks the id up, writes it later", "concurrent_duplicates_handled_once"],
  ["content_length_only", "reads Content-Length bytes, and none of a chunked body", "chunked"],
  ["startswith", "compares with expected.startswith(given)", "partial_signature", "unsigned"],
  ["forbids_unknown_fields", 'validates with extra="forbid"', "unknown_fields"],
  ["marks_before_handling", "remembers the id before the handler ends", "failure_sent_again"],
  ["background_thread", "answers 200 and handles in a thread", "failure_sent_again"],
  ["forgets_after_five", "remembers the last five ids", "duplicate_after_others"],
  ["timedelta_seconds", "takes timedelta.seconds, which has no days", "stale", "future"],
  ["sorted_digits", "compares sorted(signature)", "partial_signature"],
  ["lower_base64", "compares base64 in lower case", "partial_signature"],
  ["bureau_except_pass", "passes over failures of bureaus' alarms", "failure_sent_again"],
  ["early_without_site", "answers an event without a site at once", "failure_sent_again"],
  ["dead_letters", "acknowledges after five failures", "ten_failures_sent_again"],
  ["logs_text", 'logs record.get("text").strip() after its work', "missing_fields"],
  ["falsy_id", "drops an alarm if not id", "rare_values"],
  ["strptime", "reads times with strptime and without fractions", "rare_values"],
];

const PHP: readonly Row[] = [
  ["reencoded", "verifies json_encode(json_decode($body))", "exact_bytes", "other_bytes"],
  ["getenv_false", 'also tries getenv("OLD"), which is false', "guessable_secret"],
  ["first_eight", "compares eight digits with strncmp", "partial_signature"],
  ["intval_timestamp", "signs intval($timestamp)", "timestamp_text"],
  ["file_race", "checks file_exists, touches it later", "concurrent_duplicates_handled_once"],
  ["acknowledges_exceptions", "catches Throwable and answers 200", "failure_sent_again"],
  ["json_error_400", "answers 400 to unreadable JSON", "unreadable_body", "invalid_utf8"],
  ["iconv_ignore", 'verifies iconv("UTF-8", "UTF-8//IGNORE", $body)', "other_bytes_same_text"],
  ["trims_body", "verifies trim($body)", "exact_bytes", "other_bytes"],
  ["sixteen_characters", "remembers 16 characters of an id", "duplicate_handled_once"],
  ["answers_signature", "puts the right signature into a header", "leaked_signature"],
  ["limit_64k", "reads the first 64 KiB", "big_alarm"],
  ["ignores_missing_signature", "verifies a signature only if there is one", "unsigned"],
  [
    ...(["answers_401", "answers 401 to what it cannot verify"] as const),
    ...["wrong_secret_sent_again", "unsigned_sent_again", "rewritten_body_sent_again"],
  ],
  ["severity_enum", "answers 422 to a severity that it does not know", "unknown_values"],
  ["marks_before_handling", "touches the file before the handler ends", "failure_sent_again"],
  ["date_interval", "compares $interval->h and ->i without the days", "stale", "future"],
  ["strcasecmp_base64", "compares base64 with strcasecmp", "partial_signature"],
  ["count_chars", "compares count_chars", "partial_signature"],
  ["catches_low", "catches failures of severity Low", "failure_sent_again"],
  ["forgets_big", "remembers no ids of big bodies", "duplicate_handled_once"],
  ["dead_letters", "acknowledges after five failures", "ten_failures_sent_again"],
  ["logs_text", "logs trim($text) after its work", "missing_fields"],
  ["empty_text", "drops an alarm whose text is empty() in PHP", "rare_values"],
];

/** Receivers in another language with one flaw each. */
export const LANGUAGE_FLAWS: readonly Flawed[] = [
  ...PYTHON.map((row) => flawedIn("Python", row)),
  ...PHP.map((row) => flawedIn("PHP", row)),
];

/** Receivers in another language that are right, and that do something differently. */
export const LANGUAGE_HARMLESS: readonly Receiver[] = [
  receiverIn("Python", "", "does what the gateway asks for"),
  receiverIn("Python", "answers_204", "answers 204"),
  receiverIn("PHP", "", "does what the gateway asks for"),
  receiverIn("PHP", "uuid_only", "takes only UUIDs as ids"),
];

function flawedIn(kind: Language, [flaw, does, ...caughtBy]: Row): Flawed {
  return { ...receiverIn(kind, flaw, does), caughtBy };
}

/** Judges a receiver in a process of its own, with the probes that `doctor` has. */
function receiverIn(kind: Language, flaw: string, does: string): Receiver {
  const { serverFails } = SERVING[kind];
  const ids = receiverConformance({ target: "http://127.0.0.1/", secret: TEST_SECRET })
    .map(({ id }) => id)
    .filter((id) => !serverFails.includes(id));
  return {
    kind,
    does,
    async judge(only = ids, options = {}) {
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
        return await runCases({ target: `${origin}/webhook`, ...probes, ...options }, only);
      } finally {
        stop();
      }
    },
  };
}

/** Starts a receiver with a flaw, or without one, on a free port. */
export async function startReceiver(kind: Language, flaw = "") {
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
  const stop = (): void => {
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
