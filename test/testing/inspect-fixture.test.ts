import { describe, expect, test } from "vitest";
import { inspectFixture } from "../../src/testing/recorder/inspect-fixture.js";
import { checkRedactionRules } from "../../src/testing/recorder/redaction-rules.js";

const root = checkRedactionRules();

/** What is found in a file that is its body, and where. */
function placesIn(body: string, text = body): readonly string[] {
  return inspectFixture(text, body, root).map(({ kind, path }) => `${kind} ${path}`);
}

describe("personal data that is left is found", () => {
  test.each<[what: string, body: string, places: string[]]>([
    ["in a documented field", '{"alarm":{"text":"anna@exempel.se"}}', ["email alarm.text"]],
    ["in a key", '{"alarm":{"anna@exempel.se":1}}', ["email alarm.*"]],
    ["in an empty key", '{"":"anna@exempel.se"}', ["email *"]],
    ["behind nested values", '{"alarm":{"id":{"a":[[]]},"text":"a@b.se"}}', ["email alarm.text"]],
    ["in a list", '{"alarm":{"tags":["x",{"a":1},"anna@exempel.se"]}}', ["email alarm.*.2"]],
    [
      "in JSON within a text",
      '{"alarm":{"payload":"{\\"a\\":\\"anna@exempel.se\\"}"}}',
      ["email alarm.payload.*"],
    ],
    ["in what begins as JSON alone", '{"alarm":{"text":"[anna@exempel.se"}}', ["email alarm.text"]],
    ["in a body that is one text", '"anna@exempel.se"', ["email body"]],
    ["in a body that is JSON within a text", '"[\\"anna@exempel.se\\"]"', ["email 0"]],
    ["in a body that is no JSON", "anna@exempel.se", ["email body"]],
    ["behind a byte order mark", '\uFEFF{"alarm":"anna@exempel.se"}', ["email alarm"]],
  ])("%s", (_, body, places) => {
    expect(placesIn(body)).toEqual(places);
  });

  test("beside the body, be there a text of it or not", () => {
    expect(placesIn("{}", "anna@exempel.se {}")).toEqual(["email fixture"]);
    expect(inspectFixture("anna@exempel.se", undefined, root)).toEqual([
      { kind: "email", path: "fixture" },
    ]);
  });

  test("at twenty places, and no more", () => {
    const tags = Array.from({ length: 30 }, (_, index) => `anna${String(index)}@exempel.se`);
    const places = placesIn(JSON.stringify({ alarm: { tags } }));
    expect(places).toHaveLength(20);
    expect(places.at(-1)).toBe("email alarm.*.19");
  });

  test("nowhere in what holds none", () => {
    expect(placesIn('{"alarm":{"text":"xxx","id":1}}')).toEqual([]);
  });
});
