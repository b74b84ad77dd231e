import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Command } from "../../cli/command.js";
import { Interruption, untilAborted } from "../../cli/exit.js";
import { createProcessIo, flushed } from "../../cli/terminal/process-io.js";
import { runCommandLine } from "../../cli/run-command-line.js";
import { createStyle } from "../../cli/terminal/command-io.js";
import { never } from "../support/deferred.js";

/** The port that it listens on. */
const EMITTERS: readonly (readonly [NodeJS.EventEmitter, string])[] = [
  [process, "SIGINT"],
  [process, "SIGTERM"],
  [process.stdout, "error"],
  [process.stderr, "error"],
];

describe("a process", () => {
  const before = new Map<object, readonly unknown[]>();

  beforeEach(() => {
    for (const pair of EMITTERS) before.set(pair, listenersOf(pair));
  });

  afterEach(() => {
    vi.restoreAllMocks();
    // Its listeners live as long as the process, and this process goes on.
    for (const pair of EMITTERS) {
      const [emitter, name] = pair;
      for (const listener of listenersOf(pair)) {
        if (before.get(pair)?.includes(listener) !== true) emitter.off(name, listener);
      }
    }
  });

  test.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const)("is asked to end by %s, and ended by a second one", (name, exitCode) => {
    const exit = vi.spyOn(process, "exit").mockImplementation(() => undefined as never);
    const { signal } = createProcessIo();
    process.emit(name);
    expect(signal.reason).toMatchObject({ exitCode });
    expect(exit).not.toHaveBeenCalled();
    process.emit(name);
    expect(exit.mock.calls).toEqual([[exitCode]]);
  });

  test("ends when its standard output is closed, and goes on when its standard error is", () => {
    const { signal } = createProcessIo();
    process.stderr.emit("error", new Error("write EPIPE"));
    expect(signal.aborted).toBe(false);
    process.stdout.emit("error", Object.assign(new Error("write EPIPE"), { code: "EPIPE" }));
    expect(signal.reason).toMatchObject({ exitCode: 141 });
  });

  test("says on standard error why its result cannot be written", () => {
    const write = vi.spyOn(process.stderr, "write").mockImplementation(() => true);
    const { signal } = createProcessIo();
    process.stdout.emit("error", Object.assign(new Error("no space left"), { code: "ENOSPC" }));
    process.stdout.emit("error", Object.assign(new Error("no space left"), { code: "ENOSPC" }));
    expect(signal.reason).toMatchObject({ exitCode: 1 });
    expect(write.mock.calls).toEqual([["standard output: no space left\n"]]);
  });

  test("writes to its streams, and knows the width of a terminal", async () => {
    const write = vi.spyOn(process.stdout, "write");
    const { out, err, env } = createProcessIo();
    out.write("");
    expect(write).toHaveBeenCalledWith("");
    for (const { isTTY, columns } of [out, err]) {
      expect(typeof columns).toBe(isTTY ? "number" : "undefined");
    }
    expect(env).toBe(process.env);
    await flushed();
  });

  test.each([
    [120, 120],
    [0, undefined],
  ])("of a terminal that says it has %s columns, it knows %s", (columns, expected) => {
    const stream: { isTTY?: boolean; columns?: number } = process.stdout;
    const { isTTY, columns: before } = stream;
    Object.assign(stream, { isTTY: true, columns });
    const known = createProcessIo().out.columns;
    Object.assign(stream, { isTTY, columns: before });
    expect(known).toBe(expected);
  });
});

describe("an interruption", () => {
  test("rejects the wait, at once if it came before", async () => {
    const abort = new AbortController();
    const waiting = untilAborted(abort.signal, new Promise(() => undefined));
    const reason = new Interruption(130, "SIGINT");
    abort.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    await expect(untilAborted(abort.signal, Promise.resolve(1))).rejects.toBe(reason);
  });

  test("does not change work that ends by itself", async () => {
    const { signal } = new AbortController();
    expect(await untilAborted(signal, Promise.resolve(1))).toBe(1);
    const error = new Error("its own");
    await expect(untilAborted(signal, Promise.reject(error))).rejects.toBe(error);
  });
});

describe("the command line", () => {
  /** Runs a command made for the test: one with a bug, or one that hangs. */
  async function runWith(start: Command["start"], signal: AbortSignal) {
    let stderr = "";
    const write = (text: string): void => {
      stderr += text;
    };
    const stream = { write, isTTY: false, columns: undefined, style: createStyle(false) };
    const readStdin = () => Promise.resolve(new Uint8Array(0));
    const readLine = () => Promise.resolve("");
    const io = {
      out: stream,
      err: stream,
      readStdin,
      readLine,
      isStdinTTY: false,
      env: {},
      signal,
    };
    const command = { name: "odd", summary: "", help: () => "", start };
    return { code: await runCommandLine(["odd"], io, [command]), stderr };
  }

  test("shows the stack of a bug, and exits 70", async () => {
    const bug = () => Promise.reject(new TypeError("x is not a function"));
    const { code, stderr } = await runWith(bug, new AbortController().signal);
    expect(code).toBe(70);
    expect(stderr).toMatch(/odd: a bug in this program.*\nTypeError: x is not a function\n +at /);
  });

  test.each(["before it starts", "when it runs"])(
    "ends without a command that ignores an interruption %s",
    async (when) => {
      vi.useFakeTimers({ toFake: ["setTimeout"] });
      const abort = new AbortController();
      const interruption = new Interruption(130, "SIGINT");
      if (when === "before it starts") abort.abort(interruption);
      const ended = runWith(() => never(), abort.signal);
      abort.abort(interruption);
      await vi.advanceTimersByTimeAsync(3_000);
      expect((await ended).code).toBe(130);
    },
  );
});

function listenersOf([emitter, name]: (typeof EMITTERS)[number]) {
  return emitter.listeners(name) as ((...args: unknown[]) => void)[];
}
