import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { openApi } from "../../docs/contract.js";
import { fixtures, fixturesFolder } from "../support/fixtures.js";
import { installPlatform, loadFrom } from "../support/platform-packages.js";

const PEERS = await installPlatform("../kit/peers");

/** A part of `contract/openapi.json`. */
type Part = Readonly<Record<string, unknown>>;
const CONTRACT = JSON.parse(openApi()) as {
  readonly webhooks: Readonly<Record<string, { readonly post: Part }>>;
};

test("contract/openapi.json is made of the tables, and a validator of OpenAPI 3.1 accepts it", async () => {
  const file = new URL("../../contract/openapi.json", import.meta.url);
  expect(readFileSync(file, "utf8")).toBe(openApi());
  const { Validator } = loadFrom(PEERS, "@seriousme/openapi-schema-validator") as {
    Validator: new () => { validate(document: object): Promise<Part> };
  };
  const { valid, errors } = await new Validator().validate(CONTRACT);
  expect(errors ?? []).toEqual([]);
  expect(valid).toBe(true);
});

test("the schemas of contract/openapi.json accept every documented fixture, and refuse a record without a field", () => {
  const { default: Ajv } = loadFrom(PEERS, "ajv/dist/2020.js") as {
    default: new (options: object) => {
      addSchema(schema: object, name: string): void;
      validate(schema: object, value: unknown): boolean;
    };
  };
  const ajv = new Ajv({ strict: false });
  ajv.addSchema(CONTRACT, "contract");
  const isRight = (type: string, body: unknown): boolean => {
    const path = `#/webhooks/${type}/post/requestBody/content/application~1json/schema`;
    return ajv.validate({ $ref: `contract${path}` }, body);
  };
  // These are of a form that only legacy senders have, or none.
  const ODD = /digit-string|unknown-type|unknown-webhook|hostile|golden/;
  const documented = fixtures.filter(({ name }) => !ODD.test(name));
  expect(documented.length).toBeGreaterThan(25);
  for (const { name, headers, body } of documented) {
    const type = String((headers as Part)["X-Webhook-Type"]);
    const record = JSON.parse(Buffer.from(body).toString()) as Record<string, Part>;
    expect(isRight(type, record), name).toBe(true);
    const [key = "", fields = {}] = Object.entries(record)[0] ?? [];
    const rest = Object.entries(fields).filter(([field]) => field !== "account_id");
    expect(isRight(type, { [key]: Object.fromEntries(rest) }), name).toBe(false);
  }
});

test("fixtures/index.json names every fixture once, with the answer that its file expects", () => {
  const { rules } = JSON.parse(readFileSync(`${fixturesFolder}index.json`, "utf8")) as {
    rules: { rule: string; fixtures: { file: string; answer: string }[] }[];
  };
  const listed = rules.flatMap((one) => one.fixtures);
  expect(listed.map(({ file }) => file.replace(".json", "")).toSorted()).toEqual(
    fixtures.map(({ name }) => name).toSorted(),
  );
  for (const { file, answer } of listed) {
    const { expect: expected } = fixtures.find(({ name }) => `${name}.json` === file) ?? {};
    const isHandled = expected?.status === 200;
    expect([isHandled ? "acknowledged" : "sent_again", "either"], file).toContain(answer);
  }
});
