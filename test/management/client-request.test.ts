import { describe, expect, test } from "vitest";
import { createManagementClient } from "../../src/management/index.js";
import { CANARIES, canariesIn, shownOf } from "../support/canaries.js";
import { failure, scriptedClient, TOKEN } from "../support/management/scripted-gateway.js";

const baseUrl = "https://gateway.example/base";

describe("client.request", () => {
  test("calls a route with the client's token, a query and a body", async () => {
    const { client, seen } = scriptedClient([{ json: { data: [1] } }], { baseUrl });
    const body = { status: "CLOSED" };
    const query = { page: 2, open: true, none: undefined };
    expect(await client.request("PATCH", "/api/v1/alarms", { body, query })).toEqual({ data: [1] });
    const [call] = seen;
    expect([call?.method, call?.path, call?.body]).toEqual([
      "PATCH",
      "/base/api/v1/alarms?page=2&open=true",
      body,
    ]);
    expect(call?.headers.get("authorization")).toBe(`Bearer ${TOKEN}`);
  });

  test.each([
    ["the token of an account", "app-token", "Bearer app-token"],
    ["no token", null, null],
  ])("takes %s in place of its own", async (_, token, sent) => {
    const { client, seen } = scriptedClient([{ json: {} }]);
    await client.request("GET", "/api/v1/alarms", { token });
    expect(seen[0]?.headers.get("authorization")).toBe(sent);
  });

  test("resolves to undefined for an empty answer", async () => {
    const { client } = scriptedClient([{ status: 204 }]);
    expect(await client.request("DELETE", "/api/v1/account/7")).toBeUndefined();
  });

  test.each([
    ["another host", "https://evil.example/"],
    ["another host, by two slashes", "///evil.example/x"],
    ["another scheme", "data:text/plain,x"],
    ["another route, by dot segments", "/api/v1/alarms/5/../../account/7"],
    ["another route, by a last dot segment", "/api/v1/alarms/5/.. "],
    ["another route, by one dot", "/api/v1/./alarms"],
    ["another route, by half a percent code", "/api/v1/alarms/.%2E/account"],
    ["another route, by percent codes of slashes", "/api/v1/alarms/5%2f..%2F..%2faccount"],
    ["another route, by a tab that a URL leaves out", "/api/v1/alarms/.\t./account"],
    ["another route, by a backslash", "/api/v1/alarms/5\\..\\account"],
    ["another route, by a fragment", "/api/v1/account/5#/deactivate"],
  ])("sends no token to %s", async (_, path) => {
    const { client, seen } = scriptedClient([], { baseUrl });
    const refused = expect(client.request("GET", path)).rejects;
    await refused.toMatchObject({ name: "ConfigurationError", code: "invalid_option" });
    await refused.toThrow("below baseUrl");
    expect(seen).toEqual([]);
  });

  test("takes dots in a name, and in a query", async () => {
    const { client, seen } = scriptedClient([{ json: {} }]);
    const path = "/api/v1/account/external-id/a..b.?from=/../x";
    await client.request("GET", path);
    expect(seen[0]?.path).toBe(path);
  });

  test.each([
    ["the path", "/900101-1234", {}, "No account 900101-1234"],
    ["the path, in percent codes", "/bob%40x.se", {}, "No account bob@x.se, bob%40x.se"],
    ["the query", "", { query: { email: "bob@x.se" } }, "bob@x.se is taken"],
    ["the query in the path", "?email=bob@x.se", {}, "bob@x.se is taken"],
    ["a text of the body", "", { body: { email: CANARIES.email } }, CANARIES.email],
    ["a number of the body", "", { body: { ssn: 9_001_011_234 } }, "9001011234 is taken"],
    ["what was not sent", "/7", {}, "Account 7 belongs to bob@x.se"],
  ])("shows nothing that an answer quotes of %s", async (_, end, options, message) => {
    const details = [
      { field: "email", issue: message },
      { field: message, issue: message },
    ];
    const json = { error: { code: "BAD", message, details } };
    const { client } = scriptedClient([{ status: 422, json }]);
    const path = `/api/v1/account/external-id${end}`;
    const error = await failure(client.request("PUT", path, options));
    expect(error).toMatchObject({ code: "validation_failed", status: 422, gatewayCode: "BAD" });
    expect(shownOf(error.message, error.details)).not.toMatch(/900101|bob|x\.se|external-id/);
    expect(canariesIn(shownOf(error.message, error.details))).toEqual([]);
  });

  test("an error names the fields of the body that were refused", async () => {
    const details = [{ field: "email", issue: "bob@x.se is taken" }];
    const json = { error: { code: "VALIDATION_ERROR", message: "bob@x.se", details } };
    const { client } = scriptedClient([{ status: 422, json }]);
    const error = await failure(client.request("POST", "/api", { body: { email: "bob@x.se" } }));
    expect(error.message).toBe(
      "POST of client.request was answered 422 VALIDATION_ERROR: email: was refused",
    );
  });

  test.each([
    ["/api/v1/account/900101-1234", {}, "NO_9001011234", undefined],
    ["/api/v1/account/bob%40x.se", {}, "BOB_X_SE", undefined],
    ["/api/v1/account", { query: { name: "Bo" } }, "NO_BO", undefined],
    ["/api/v1/account", { body: { ssn: 9_001_011_234 } }, "NO_9001011234", undefined],
    ["/api/v1/account/7", { body: { country_code: "SE" } }, "USER_EXISTS", "USER_EXISTS"],
    ["/api/v1/account/7", {}, "ACCOUNT_NOT_FOUND", "ACCOUNT_NOT_FOUND"],
  ])("after %s with %j, the code %s is shown as %s", async (path, options, code, shown) => {
    const { client } = scriptedClient([{ status: 422, json: { error: { code } } }]);
    expect((await failure(client.request("PUT", path, options))).gatewayCode).toBe(shown);
  });

  test.each([
    ["a method that no route has", "TRACE", "/api", {}],
    ["a body that is no JSON", "POST", "/api", { body: { id: 1n } }],
    ["a body that is null", "POST", "/api", { body: null }],
    ["a body that is a function", "POST", "/api", { body: () => undefined }],
    ["a path that is undefined", "GET", undefined, {}],
    ["a query that is null", "GET", "/api", { query: null }],
    ["an option that does not exist", "GET", "/api", { headers: {} }],
    ["a token with a blank", "GET", "/api", { token: "a b" }],
  ])("refuses %s", async (_, method, path, options: object) => {
    const client = createManagementClient({ baseUrl, token: TOKEN });
    const call = client.request(method as "GET", path as never, options);
    await expect(call).rejects.toMatchObject({ name: "ConfigurationError" });
  });

  test("refuses a GET with a body, and says so", async () => {
    const { client, seen } = scriptedClient([{ json: {} }]);
    const call = client.request("GET", "/api/v1/alarms", { body: { status: "NEW" } });
    await expect(call).rejects.toThrow("a GET has no body: use query");
    expect(seen).toEqual([]);
  });
});

describe("a list of client.request", () => {
  const cut = { data: [1], meta: { current_page: 1, last_page: 2 } };

  test.each([
    ["/api/v1/alarms", { query: { status: "NEW", per_page: 50 } }],
    ["/api/v1/alarms?page_size=50", {}],
  ])("at %s with %j is an error if it names another page", async (path, options) => {
    const { client } = scriptedClient([{ json: cut }]);
    const error = await failure(client.request("GET", path, options));
    expect(error.code).toBe("incomplete_list");
    expect(error.message).toContain("query: { page: 1 }");
  });

  test.each([
    ["/api/v1/alarms", { query: { page: 1 } }],
    ["/api/v1/alarms?page=1", {}],
    ["/api/v1/alarms?page[number]=1", {}],
    ["/api/v1/alarms", { query: { cursor: "" } }],
  ])("at %s with %j is one page, as asked for", async (path, options) => {
    const { client } = scriptedClient([{ json: cut }]);
    expect(await client.request("GET", path, options)).toEqual(cut);
  });

  test.each([
    ["GET", { data: [1], meta: { last_page: 1, total: 1 } }],
    ["GET", { data: { pages: 2 }, pages: 2 }],
    ["POST", cut],
  ] as const)("is whole, or none: %s of %j", async (method, json) => {
    const { client } = scriptedClient([{ json }]);
    expect(await client.request(method, "/api/v1/alarms")).toEqual(json);
  });

  test("has another page if the client's nextPage finds one, and none if not", async () => {
    const nextPage = (body: unknown) => (body as { more?: string }).more;
    const more = scriptedClient([{ json: { data: [], more: "?page=2" } }], { nextPage });
    const error = await failure(more.client.request("GET", "/api/v1/alarms"));
    expect(error.code).toBe("incomplete_list");
    const last = scriptedClient([{ json: cut }], { nextPage });
    expect(await last.client.request("GET", "/api/v1/alarms")).toEqual(cut);
  });
});
