import { describe, expect, test } from "vitest";
import { createManagementClient } from "../../src/management/index.js";
import { CANARIES, canariesIn } from "../support/canaries.js";
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
    ["another host, by backslashes", "\\\\evil.example/x"],
    ["a route above baseUrl", "/../api/v1/alarms"],
    ["a route above baseUrl, in percent codes", "/%2e%2e/api/v1/alarms"],
    ["another scheme", "data:text/plain,x"],
  ])("sends no token to %s", async (_, path) => {
    const { client, seen } = scriptedClient([], { baseUrl });
    await expect(client.request("GET", path)).rejects.toThrow("below baseUrl");
    expect(seen).toEqual([]);
  });

  test("follows no redirect", async () => {
    const { client, seen } = scriptedClient([
      { status: 302, headers: { location: "https://evil.example/" } },
    ]);
    expect((await failure(client.request("GET", "/api/v1/alarms"))).code).toBe("unexpected_answer");
    expect(seen).toHaveLength(1);
  });

  test("names neither the path nor a text of the body in an error", async () => {
    const echo = { error: { code: "BAD", message: CANARIES.email, details: [] } };
    const { client } = scriptedClient([{ status: 422, json: echo }]);
    const path = `/api/v1/account/external-id/${CANARIES.email}`;
    const error = await failure(client.request("PUT", path, { body: { email: CANARIES.email } }));
    expect(error.code).toBe("validation_failed");
    expect(canariesIn(error.message)).toEqual([]);
  });

  test.each([
    ["a method that no route has", "TRACE", "/api", {}],
    ["a body that is no JSON", "POST", "/api", { body: { id: 1n } }],
    ["an option that does not exist", "GET", "/api", { headers: {} }],
    ["a token with a blank", "GET", "/api", { token: "a b" }],
  ])("refuses %s", async (_, method, path, options: object) => {
    const client = createManagementClient({ baseUrl, token: TOKEN });
    const call = client.request(method as "GET", path, options);
    await expect(call).rejects.toMatchObject({ name: "ConfigurationError" });
  });
});
