import http from "node:http";
import { describe, expect, test } from "vitest";
import { UnreadableBody, bodyLimits } from "../../adapters/http/index.js";
import { ConfigurationError } from "../../src/index.js";
import { signed } from "../support/adapters/adapter-exchange.js";
import { ownFrameworkListener } from "../support/adapters/own-adapter.js";
import { outcomesOf, watchedReceivers } from "../support/adapters/watched-receiver.js";
import type { CreateServer } from "../support/listening-receiver.js";
import { headOf } from "../support/raw-connection.js";
import { recordingReceiver } from "../support/recording-receiver.js";
import { thrownBy } from "../support/thrown.js";

const open = watchedReceivers();
const create: CreateServer = (...given) => http.createServer(ownFrameworkListener(...given));

describe("an adapter made of /adapter", () => {
  test.each([
    [
      "a body over maxBodyBytes 409 and closes the connection after the upload",
      { maxBodyBytes: 1_000 },
      "x".repeat(2_000),
      { status: 409, outcome: "body_too_large" },
    ],
    [
      "an upload that stalls 408 after bodyTimeoutMs and closes the connection",
      { bodyTimeoutMs: 50 },
      "x",
      { status: 408, outcome: "body_timeout" },
    ],
  ])("answers %s", async (_what, options, body, { status, outcome }) => {
    const { server, connection } = await open.connected(create, options);
    await connection.write(headOf(await signed(), "Content-Length: 2000"));
    await connection.write(body);
    const [answer] = await connection.answers(1);
    expect(answer).toMatchObject({ status, headers: { connection: "close" } });
    await connection.closed;
    expect(outcomesOf(server)).toEqual([outcome]);
  });
});

describe("bodyLimits", () => {
  const { receiver } = recordingReceiver({ maxBodyBytes: 1_000 });

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
