import http from "node:http";
import { connect } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { UnreadableBody, bodyLimits } from "../../adapters/http/index.js";
import { ConfigurationError, createWebhookReceiver, type WebhookOutcome } from "../../src/index.js";
import { ownFrameworkListener } from "../support/adapters/own-adapter.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { listen, type RunningServer } from "../support/servers.js";
import { thrownBy } from "../support/thrown.js";

const outcomes: WebhookOutcome[] = [];
const receiver = createWebhookReceiver({
  secret: TEST_SECRET,
  handlers: { new_alarm: () => undefined },
  maxBodyBytes: 1_000,
  logger: false,
  onOutcome: ({ outcome }) => outcomes.push(outcome),
});

let server: RunningServer;

beforeEach(async () => {
  outcomes.length = 0;
  server = await listen(http.createServer(ownFrameworkListener(receiver, { bodyTimeoutMs: 50 })));
});

afterEach(() => server.close());

/** Sends bytes over a connection of its own, and resolves to all that came back when it is closed. */
function exchange(...parts: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = "";
    const socket = connect(server.port, "127.0.0.1", () => {
      for (const part of parts) socket.write(part);
    });
    socket.setEncoding("utf8");
    socket.on("data", (text: string) => (answer += text));
    socket.on("end", () => {
      socket.destroy();
      resolve(answer);
    });
    socket.on("error", reject);
  });
}

const head = (length: number) =>
  `POST / HTTP/1.1\r\nhost: partner.example\r\ncontent-length: ${String(length)}\r\n\r\n`;

describe("an adapter made of /adapter", () => {
  test("answers a body over maxBodyBytes 409 and closes the connection after the upload", async () => {
    const answer = await exchange(head(100_000), "x".repeat(100_000));
    expect(answer).toMatch(/^HTTP\/1\.1 409 /);
    expect(answer).toMatch(/\r\nconnection: close\r\n/i);
    expect(outcomes).toEqual(["body_too_large"]);
  });

  test("answers an upload that stalls 408 after bodyTimeoutMs and closes the connection", async () => {
    const answer = await exchange(head(100), "x");
    expect(answer).toMatch(/^HTTP\/1\.1 408 /);
    expect(answer).toMatch(/\r\nconnection: close\r\n/i);
    expect(outcomes).toEqual(["body_timeout"]);
  });
});

describe("bodyLimits", () => {
  test("takes maxBodyBytes from the receiver and the defaults of the adapters", () => {
    expect(bodyLimits("ownAdapter", receiver)).toEqual({
      maxBodyBytes: 1_000,
      bodyTimeoutMs: 10_000,
      uploadTimeoutMs: 60_000,
    });
  });

  test("refuses what is not a receiver, an unknown option and a value out of bounds", () => {
    const codeOf = (...given: unknown[]): string => {
      const error = thrownBy(() =>
        bodyLimits(...(["ownAdapter", ...given] as never as [string, never])),
      ) as ConfigurationError;
      expect(error).toBeInstanceOf(ConfigurationError);
      expect(error.message).toMatch(/ownAdapter|bodyTimeoutMs/);
      return error.code;
    };
    expect(codeOf({})).toBe("invalid_receiver");
    expect(codeOf(receiver, { bodyTimeout: 1 })).toBe("unknown_option");
    expect(codeOf(receiver, { bodyTimeoutMs: 0 })).toBe("invalid_option");
  });
});

test("an UnreadableBody is unfinished unless other code has read the body", () => {
  const isUnfinished = (["body_too_large", "body_timeout", "body_consumed"] as const).map(
    (reason) => new UnreadableBody(reason, 0).isUnfinished,
  );
  expect(isUnfinished).toEqual([true, true, false]);
});
