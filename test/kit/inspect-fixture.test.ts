import { describe, expect, test } from "vitest";
import { inspectFixture } from "../../kit/recorder/inspect-fixture.js";
import { checkRedactionRules } from "../../kit/recorder/redaction-rules.js";

const root = checkRedactionRules();

/** Kind and path of each finding in a file whose text is `text`. */
function placesIn(body: string, text = body): readonly string[] {
  return inspectFixture(text, body, root).map(({ kind, path }) => `${kind} ${path}`);
}

describe("inspectFixture", () => {
  test.each<[what: string, body: string, places: string[]]>([
    ["in a documented field", '{"alarm":{"text":"anna@exempel.se"}}', ["email alarm.text"]],
    ["in a key", '{"alarm":{"anna@exempel.se":1}}', ["email alarm.*"]],
    ["in an empty key", '{"":"anna@exempel.se"}', ["email *"]],
    ["after nested values", '{"alarm":{"id":{"a":[[]]},"text":"a@b.se"}}', ["email alarm.text"]],
    ["in a list", '{"alarm":{"tags":["x",{"a":1},"anna@exempel.se"]}}', ["email alarm.*.2"]],
    [
      "in JSON within a text",
      '{"alarm":{"payload":"{\\"a\\":\\"anna@exempel.se\\"}"}}',
      ["email alarm.payload.*"],
    ],
    [
      "in a text that only begins like JSON",
      '{"alarm":{"text":"[anna@exempel.se"}}',
      ["email alarm.text"],
    ],
    ["in a body that is one text", '"anna@exempel.se"', ["email body"]],
    ["in a body that is JSON within a text", '"[\\"anna@exempel.se\\"]"', ["email 0"]],
    ["in a body that is not JSON", "anna@exempel.se", ["email body"]],
    ["after a byte order mark", '\uFEFF{"alarm":"anna@exempel.se"}', ["email alarm"]],
  ])("inspectFixture finds personal data %s", (_, body, places) => {
    expect(placesIn(body)).toEqual(places);
  });

  test("inspectFixture finds personal data outside the body, and in a file without a body", () => {
    expect(placesIn("{}", "anna@exempel.se {}")).toEqual(["email fixture"]);
    expect(inspectFixture("anna@exempel.se", undefined, root)).toEqual([
      { kind: "email", path: "fixture" },
    ]);
  });

  test("inspectFixture reports at most twenty findings", () => {
    const tags = Array.from({ length: 30 }, (_, index) => `anna${String(index)}@exempel.se`);
    const places = placesIn(JSON.stringify({ alarm: { tags } }));
    expect(places).toHaveLength(20);
    expect(places.at(-1)).toBe("email alarm.*.19");
  });

  test("inspectFixture finds nothing in a redacted body", () => {
    expect(placesIn('{"alarm":{"text":"xxx","id":1}}')).toEqual([]);
  });
});
