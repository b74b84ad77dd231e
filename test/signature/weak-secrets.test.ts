import { expect, test, vi } from "vitest";
import { createWebhookReceiver, type SecretOption } from "../../src/index.js";
import { createCollector } from "../support/collector.js";
import { TEST_SECRET, delivery } from "../support/deliveries.js";
import { recordingReceiver } from "../support/recording-receiver.js";

const STRONG = "whsec_0123456789abcdef_strong";

function watched(secret: SecretOption) {
  const { receiver, lines } = recordingReceiver({ secret });
  return { receiver, messages: () => lines.map(({ message }) => message), lines };
}

test.each<[string, SecretOption, string]>([
  ["15 characters", "0123456789abcde", "is shorter than 16 characters"],
  ["a placeholder", "your-webhook-secret-here", "is a placeholder"],
  ["a placeholder in capitals", "CHANGE_ME", "is a placeholder"],
  ["one repeated character", "xxxxxxxxxxxxxxxxxxxxxxxx", "is one character again and again"],
  ["the second of a list", [STRONG, "short and weak"], "is shorter than 16 characters"],
  [
    "the secret of one type",
    { new_alarm: STRONG, delete_my_data_event: [STRONG, "changeme"] },
    "is a placeholder",
  ],
])(
  "a weak secret causes a warning without the secret when the receiver is created: %s",
  (_what, secret, expected) => {
    const { messages, lines } = watched(secret);
    expect(messages()).toHaveLength(1);
    expect(lines[0]?.level).toBe("warn");
    expect(messages()[0]).toContain(`the webhook secret ${expected}`);
    expect(messages()[0]).toContain("openssl rand -hex 32");
    for (const text of Object.values(Object(secret) as object)
      .flat(2)
      .concat(secret)) {
      if (typeof text === "string" && text.length > 1) expect(messages()[0]).not.toContain(text);
    }
  },
);

test.each(['"', "'", "`"])(
  "a secret in quotation marks (%s), as an env file leaves it, causes a warning that says to remove them",
  (mark) => {
    const { messages } = watched(mark + STRONG + mark);
    expect(messages()).toHaveLength(1);
    expect(messages()[0]).toContain("is in quotation marks");
    expect(messages()[0]).toContain("docker run --env-file");
    expect(messages()[0]).not.toContain(STRONG);
  },
);

test("several weak secrets cause one warning for each receiver", () => {
  expect(watched(["changeme", "secret", "short"]).messages()).toHaveLength(1);
});

test.each<[SecretOption]>([
  [STRONG],
  ["0123456789abcdef"],
  // Quotation marks that are not around all of it.
  [`${STRONG}"a"`],
  [`"a"${STRONG}`],
  [[STRONG, TEST_SECRET]],
  [`"${STRONG}`],
  [{ new_alarm: STRONG, delete_my_data_event: [STRONG] }],
])("a secret of 16 characters or more causes no warning: case %#", (secret) => {
  expect(watched(secret).messages()).toEqual([]);
});

test("a weak secret of a function causes one warning, at its first use", async () => {
  for (const secret of ["weak", ["weak", STRONG]]) {
    const { receiver, messages } = watched(() => secret);
    expect(messages()).toEqual([]);
    const answer = await receiver.receive(await delivery({ secret: "weak" }));
    expect(answer.outcome).toBe("handled");
    await receiver.receive(await delivery({ secret: "weak" }));
    expect(messages()).toEqual([expect.stringContaining("is shorter than 16 characters")]);
  }
});

test("the public test secret causes a warning only in production", () => {
  expect(watched(TEST_SECRET).messages()).toEqual([]);
  vi.stubEnv("NODE_ENV", "production");
  expect(watched(TEST_SECRET).messages()).toEqual([
    expect.stringContaining("is the public test secret of this package"),
  ]);
  expect(watched(STRONG).messages()).toEqual([]);
});

test("a refused secret causes no warning", () => {
  const { options, lines } = createCollector();
  const handlers = { new_alarm: () => undefined };
  expect(() => createWebhookReceiver({ ...options, secret: ["weak", ""], handlers })).toThrow();
  expect(lines).toEqual([]);
});

test("no warning is written if the logger is off", () => {
  const warn = vi.spyOn(console, "warn");
  createWebhookReceiver({
    secret: "weak",
    handlers: { new_alarm: () => undefined },
    logger: false,
  });
  expect(warn).not.toHaveBeenCalled();
});
