import { expect, test, vi } from "vitest";
import type { SecretOption } from "../../src/index.js";
import { TEST_SECRET, delivery } from "../support/deliveries.js";
import { recordingReceiver } from "../support/recording-receiver.js";

const STRONG = "whsec_0123456789abcdef_strong";

function watched(secret: SecretOption) {
  const { receive, lines } = recordingReceiver({ secret });
  return { receive, messages: () => lines.map(({ message }) => message), lines };
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
    expect(messages()[0]).not.toMatch(
      /0123456789|your-webhook|CHANGE|xxxx|short and weak|changeme/,
    );
  },
);

const SHAPED: readonly (readonly [shape: string, secret: string])[] = [
  ["a reference with a scheme", "op://vault/gateway/webhook-secret"],
  ["an encrypted value", "ENC[AES256_GCM,data:c2VjcmV0,iv:aXY=,tag:dGFn,type:str]"],
  ["a reference with a scheme", "vault:secret/data/gateway#webhook"],
  ["a reference with a scheme", "env:GATEWAY_WEBHOOK_SECRET"],
  ["a reference with a scheme", "https://gateway.vault.azure.net/secrets/webhook"],
  ["the name of a cloud's resource", "projects/my-project/secrets/gateway/versions/latest"],
  [
    "a reference of Azure App Service",
    "@Microsoft.KeyVault(SecretUri=https://gateway.vault.azure.net/secrets/webhook)",
  ],
  ["JSON", '{"GATEWAY_WEBHOOK_SECRET":"0123456789abcdef"}'],
  ["JSON", '["0123456789abcdef"]'],
  ["a path", "/run/secrets/gateway_webhook"],
  ["a path", "./secrets/gateway-webhook"],
  ["a path", "secrets/gateway-webhook.txt"],
  ["a path", "C:\\ProgramData\\gateway\\secret"],
  ["a template expression", "{{ .Values.webhook.secret }}"],
  ["a template expression", "${{ secrets.GATEWAY_WEBHOOK_SECRET }}"],
  ["a template expression", "{{resolve:secretsmanager:gateway}}"],
  ["a template expression", "<%= ENV['GATEWAY_SECRET'] %>"],
  ["a template expression", "#{GATEWAY_WEBHOOK_SECRET}#"],
  ["a template expression", "<webhook secret of the gateway>"],
  ["a shell expression", "$(cat /run/secrets/gateway)"],
  ["a shell expression", "${GATEWAY_WEBHOOK_SECRET}"],
  ["a shell expression", "$GATEWAY_WEBHOOK_SECRET"],
  ["a shell expression", "$env:GATEWAY_WEBHOOK_SECRET"],
  ["a shell expression", "%GATEWAY_WEBHOOK_SECRET%"],
  ["a line NAME=value", "GATEWAY_WEBHOOK_SECRET=0123456789abcdef"],
  ["a line NAME=value", "export GATEWAY_WEBHOOK_SECRET=0123456789abcdef"],
  ["an expression of code", "process.env.GATEWAY_WEBHOOK_SECRET"],
  ["an expression of code", 'os.environ["GATEWAY_WEBHOOK_SECRET"]'],
  ["an object made into text", "[object Promise]"],
  ["a line of HTTP", "Bearer 0123456789abcdef"],
  ["a line of HTTP", "X-Webhook-Secret: 0123456789abcdef"],
  ["a signature", `v1=${"0123456789abcdef".repeat(4)}`],
  ["a PEM block", "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2Vw\n-----END PRIVATE KEY-----"],
  ["text with a line break", "0123456789abcdef\n0123456789abcdef"],
  ["text with a line break", "0123456789abcdef\r\n# rotated in May"],
  ["a placeholder of a template", "REPLACE_ME_BEFORE_THE_START"],
  ["a placeholder of a template", "changeme-in-production"],
  ["a placeholder of a template", "put-your-secret-here-please"],
  ["JSON", '[ { "secret" : "0123456789abcdef" } ]'],
  ["JSON", '{ "secret" : "0123456789abcdef" }'],
  ["a template expression", "<% secret %>"],
  ["a template expression", "<WEBHOOK SECRET>"],
  ["a template expression", "#{GATEWAY_WEBHOOK_SECRET}"],
  ["a shell expression", "$(gateway.webhook_secret)"],
  ["a shell expression", "$(GATEWAY_WEBHOOK_SECRET)"],
  ["a shell expression", "${gateway.webhook.secret}"],
  ["a path", "~/gateway/secret.value"],
  ["a PEM block", "-----BEGIN PRIVATE KEY-----"],
  ["a reference with a scheme", "secretsmanager:gateway/webhook"],
  ["a shell expression", "${GATEWAY_WEBHOOK_SECRET:-none}"],
  ["a line NAME=value", "APP_WEBHOOK_SECRET=0123456789abcdef"],
  ["a line NAME=value", "app_webhook_secret=0123456789abcdef"],
  ["a path", "secrets/gateway.yml"],
  ["a placeholder of a template", "Super-Secret"],
];
/** Shapes that are found anywhere in a text. */
const ANYWHERE = ["text with a line break", "an expression of code", "a placeholder of a template"];
const WHOLE = SHAPED.filter(
  ([shape, secret]) => !ANYWHERE.includes(shape) && !secret.includes("\n"),
);

test.each(SHAPED)(
  "a secret that is %s causes a warning that names the shape and not the value: %j",
  (shape, secret) => {
    const { messages } = watched(secret);
    expect(messages()).toHaveLength(1);
    expect(messages()[0]).toContain(`the webhook secret is ${shape}`);
    expect(messages()[0]).toMatch(/should have put the secret in its place|openssl rand -hex 32/);
    expect(messages()[0]).not.toContain(secret);
  },
);

/** No part of any shape, and at either end of it no secret that something should have put there. */
const RANDOM = "*Zq7*xK2*";

test.each(WHOLE)("a random secret that goes on like %s is none: %j", (_shape, secret) => {
  expect(watched(RANDOM + secret).messages()).toEqual([]);
});

test.each(
  WHOLE.filter(
    ([shape, secret]) =>
      /^(?:JSON|an encrypted|a template|a shell|an object|a signature)/.test(shape) ||
      /^(?:op:|https:|[.~]|secrets\/|C:)/.test(secret),
  ),
)("a random secret that begins like %s is none: %j", (_shape, secret) => {
  expect(watched(secret + RANDOM).messages()).toEqual([]);
});

test("a function that returns a reference in place of the secret causes the warning at its first use", async () => {
  const reference = "vault:secret/data/gateway#webhook";
  const { receive, messages } = watched(() => reference);
  const answer = await receive(await delivery({ secret: reference }));
  // It may still be what was registered at the gateway.
  expect(answer.outcome).toBe("handled");
  expect(messages()).toEqual([expect.stringContaining("is a reference with a scheme")]);
});

test.each(["abc-def_ghi-012_345", "ABC-DEF_GHI-012_345", "Ab+/=.Ab+/=.Ab+/=.Ab+/=."])(
  "a secret of any alphabet in quotation marks causes the warning: %s",
  (secret) => {
    expect(watched(`"${secret}"`).messages()).toEqual([
      expect.stringContaining("is in quotation marks"),
    ]);
  },
);

test.each(['"', "'", "`"])(
  "a secret in quotation marks (%s) causes a warning that says to remove them",
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
  // Signs alone, and random letters and digits where a name would make it a shape.
  ["%-*+!?=(&$#@)~;.,"],
  [["env:Zq7xK2p9wL4mT8vB", "${Zq7xK2p9wL4mT8vB}", "${q7xK2p9wL4mT8vBz}", "${ABCD#xK2p9wL4mT}"]],
])("a secret of 16 characters or more causes no warning: case %#", (secret) => {
  expect(watched(secret).messages()).toEqual([]);
});

test("a weak secret of a function causes one warning, at its first use", async () => {
  for (const secret of ["weak", ["weak", STRONG]]) {
    const { receive, messages } = watched(() => secret);
    expect(messages()).toEqual([]);
    const answer = await receive(await delivery({ secret: "weak" }));
    expect(answer.outcome).toBe("handled");
    await receive(await delivery({ secret: "weak" }));
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
  const warn = vi.fn();
  const logger = { warn, error: warn };
  expect(() => recordingReceiver({ secret: ["weak", ""], logger })).toThrow();
  expect(warn).not.toHaveBeenCalled();
});
