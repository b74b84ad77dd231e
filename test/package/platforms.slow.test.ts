import { createServer } from "node:http";
import { expect, test } from "vitest";
import { complaintsOf, reachabilityComplaints } from "../platforms/run-row.js";
import { startServer } from "../platforms/start-server.js";
import { serving } from "../support/serving.js";

test("a case that a platform answers itself is no complaint, and every other one is", () => {
  const ownAnswers = { no_server_errors: "400 from its parser" };
  const results = [
    { id: "accepts", result: "passed" },
    { id: "no_server_errors", result: "failed", reason: "got 400" },
    { id: "slow_handler", result: "not_judged", reason: "no probe" },
  ] as const;
  expect(complaintsOf({ ownAnswers }, results)).toEqual(["slow_handler not judged: no probe"]);
  expect(complaintsOf({}, results)).toEqual([
    "no_server_errors failed: got 400",
    "slow_handler not judged: no probe",
  ]);
});

test("a platform's own answer that did not happen is a complaint", () => {
  const ownAnswers = { accepts: "400", renamed: "415" };
  expect(complaintsOf({ ownAnswers }, [{ id: "accepts", result: "passed" }])).toEqual([
    "ownAnswers has accepts, and that case passed",
    "ownAnswers has renamed, and there is no such case",
  ]);
});

test("a platform that runs no case does not pass", () => {
  expect(complaintsOf({}, [])).toEqual(["no case ran"]);
});

test.each([
  ["is missing", { program: "/nowhere/node", args: () => [] }, "did not start"],
  ["ends at once", { args: () => ["-e", "console.log('no port'); process.exit(1)"] }, "no port"],
])("a platform whose program %s is reported", async (_how, server, message) => {
  await expect(startServer({ folder: "node", ...server }, "http://127.0.0.1:1/")).rejects.toThrow(
    message,
  );
});

test("a row whose URL answers GET or HEAD with anything but 200 does not pass", async () => {
  const url = await serving(
    createServer((req, res) => {
      const isMounted = req.method === "POST" || req.url === "/all";
      res.writeHead(isMounted ? 200 : 404).end();
    }),
  );
  expect(await reachabilityComplaints(`${url}all`)).toEqual([]);
  const complaints = ["GET is answered 404", "HEAD is answered 404"];
  expect(await reachabilityComplaints(`${url}post`)).toEqual(complaints);
});
