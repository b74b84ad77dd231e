import * as fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { ConfigurationError, createWebhookReceiver, type WebhookLogger } from "../../src/index.js";
import { alarmReceiver } from "../support/alarm-receiver.js";
import { delivery } from "../support/deliveries.js";
import { throwing } from "../support/faults.js";

const ID = "3f2504e0-4f89-41d3-9a0c-0305e82c3301";

/** The single line that the default logger prints for a handler that throws. */
async function lineFor(thrown: unknown): Promise<string> {
  const print = vi.spyOn(console, "error").mockReturnValue();
  const receiver = alarmReceiver(throwing(thrown), { logger: undefined });
  expect((await receiver.receive(await delivery())).outcome).toBe("handler_failed");
  expect(print).toHaveBeenCalledOnce();
  const [values = []] = print.mock.calls;
  print.mockRestore();
  expect(values).toHaveLength(1);
  return String(values[0]);
}

describe("the default logger", () => {
  test("the default logger writes one line of key=value pairs with the error and its place", async () => {
    const error = Object.assign(new Error("database is away", { cause: new Error("ECONNRESET") }), {
      code: "57P01",
    });
    const line = await lineFor(error);
    expect(line).toMatch(
      new RegExp(
        `^identity-gateway-webhooks: handler_failed: The handler failed\\. .* outcome=handler_failed ` +
          `status=500 bytes=[0-9]+ durationMs=[0-9]+(?:\\.[0-9])? id=${ID} type=new_alarm secretIndex=0 ` +
          `err="Error: database is away" code=57P01 cause="Error: ECONNRESET" ` +
          `stack=".*log-lines\\.test\\.ts:[0-9:]+\\)? < .*"$`,
      ),
    );
  });

  test("the default logger writes the eight innermost frames of a stack, and nothing of the text above them", async () => {
    const frames = Array.from({ length: 9 }, (_, n) => `call${String(n)} (file.ts:${String(n)}:1)`);
    const error = new Error("a text");
    const above = ["Error: a text", "that looks at a frame"];
    error.stack = [...above, ...frames.map((frame) => `    at ${frame}`)].join("\n");
    const line = await lineFor(error);
    expect(line.endsWith(` stack="${frames.slice(0, 8).join(" < ")}"`)).toBe(true);
  });

  test("the default logger writes a code that is a text or a number, and no other", async () => {
    const coded = (code: unknown) => lineFor(Object.assign(new Error("no"), { code, stack: "" }));
    expect(await coded("E1")).toMatch(/ err="Error: no" code=E1$/);
    expect(await coded(1205)).toMatch(/ err="Error: no" code=1205$/);
    expect(await coded({})).toMatch(/ err="Error: no"$/);
  });

  test("the default logger cuts a text after 1000 characters, and says so", async () => {
    const [plain, spaced] = ["x".repeat(1_000), `x ${"y".repeat(998)}`];
    expect(await lineFor(plain)).toMatch(new RegExp(` err=${plain}$`));
    expect(await lineFor(spaced)).toMatch(new RegExp(` err="${spaced}"$`));
    expect(await lineFor(`${plain}x`)).toMatch(new RegExp(` err="${plain}…"$`));
  });

  test("the default logger escapes what a terminal would obey, by its number", async () => {
    expect(await lineFor("a\u0007b\u202Ec")).toMatch(/ err=a\\u0007b\\u202ec$/);
  });

  test("the default logger writes an error without stack, code and cause", async () => {
    const error = new Error("plain");
    error.stack = undefined as unknown as string;
    expect(await lineFor(error)).toMatch(/ err="Error: plain"$/);
  });

  test("the default logger writes a thrown value that is not an Error as text", async () => {
    expect(await lineFor("no")).toMatch(/ err=no$/);
    expect(await lineFor("")).toMatch(/ err=""$/);
    expect(await lineFor(null)).toMatch(/ err=null$/);
    expect(await lineFor(Symbol("why"))).toMatch(/ err=Symbol\(why\)$/);
    expect(await lineFor("a=b")).toMatch(/ err="a=b"$/);
  });

  test("the default logger writes a line for an error that cannot be read", async () => {
    const hostile = Object.defineProperty(new Error("x"), "message", {
      get: throwing(new Error("no")),
    });
    for (const thrown of [hostile, Object.create(null)]) {
      expect(await lineFor(thrown)).toContain('err="an error that cannot be read"');
    }
  });

  test("the default logger writes an error whose cause cannot be written", async () => {
    const error = new Error("database is down", { cause: Object.create(null) });
    const line = await lineFor(error);
    expect(line).toContain('err="Error: database is down"');
    expect(line).toContain('cause="a value that cannot be read"');
  });

  test("the default logger never writes a second line or a control or invisible character", async () => {
    const odd = fc.constantFrom("\n", "\r", "\0", "\u001b[2J", "\u0085", "\u2028", "\u202e");
    const text = fc
      .array(fc.oneof(odd, fc.string()), { maxLength: 8 })
      .map((parts) => parts.join(""));
    await fc.assert(
      fc.asyncProperty(text, text, async (message, name) => {
        const line = await lineFor(Object.assign(new Error(message), { name }));
        expect(line).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
      }),
      { seed: 20_260_708, numRuns: 200 },
    );
  });
});

describe("the option logger", () => {
  test("a given logger receives message and details separately, with the thrown error as err", async () => {
    const error = new Error("handler failed");
    const print = vi.spyOn(console, "error").mockReturnValue();
    const receiver = alarmReceiver(() => Promise.reject(error), { logger: console });
    await receiver.receive(await delivery());
    expect(print.mock.calls).toHaveLength(1);
    const [[message, details] = []] = print.mock.calls;
    expect(message).toMatch(/^identity-gateway-webhooks: handler_failed: [^=]*$/);
    expect(details).toMatchObject({ outcome: "handler_failed", id: ID });
    expect((details as { err: unknown }).err).toBe(error);
    expect(details).not.toHaveProperty("error");
  });

  test("a given logger receives details with every line, so that a wrapper can pass them first", () => {
    const seen: unknown[] = [];
    const take = (_message: string, details: unknown) => seen.push(details);
    createWebhookReceiver({
      acceptUnsignedDeliveries: true,
      handlers: { new_alarm: () => undefined },
      logger: { warn: take, error: take },
    });
    expect(seen).toEqual([{}]);
  });

  test("a pino logger is refused, because it expects the details first and would drop them", () => {
    const pino = { warn: () => undefined, error: () => undefined, bindings: () => ({}) };
    const make = () => alarmReceiver(() => undefined, { logger: pino as WebhookLogger });
    expect(make).toThrow(ConfigurationError);
    expect(make).toThrow("logger is pino, which takes the details first: wrap it");
  });
});
