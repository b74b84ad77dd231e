import { mkdirSync, rmSync, symlinkSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, it } from "vitest";
import { startDynalite, type DynaliteServer } from "../support/dynamodb/dynalite-server.js";
import {
  DUPLICATE,
  HANDLED,
  freshAlarm,
  post,
  startExample,
  type ExampleProcess,
} from "../support/package/example-process.js";
import { installPlatform } from "../support/platform-packages.js";

/** Where the example finds the SDK. A partner has it in the project's own node_modules. */
const MODULES = fileURLToPath(new URL("../../examples/node_modules/", import.meta.url));

let server: DynaliteServer;
let example: ExampleProcess;
let closers: (() => unknown)[] = [];

const start = () =>
  startExample("dynamodb.ts", {
    AWS_ENDPOINT_URL_DYNAMODB: server.url,
    AWS_REGION: "eu-central-1",
    AWS_ACCESS_KEY_ID: "test",
    AWS_SECRET_ACCESS_KEY: "test",
    CREATE_TABLE: "true",
  });

beforeEach(async () => {
  const root = await installPlatform("dynamodb");
  rmSync(MODULES, { recursive: true, force: true });
  mkdirSync(MODULES);
  symlinkSync(fileURLToPath(new URL("node_modules/@aws-sdk", root)), `${MODULES}@aws-sdk`, "dir");
  closers.push(() => rmSync(MODULES, { recursive: true }));
  server = await startDynalite();
  closers.push(server.close);
  example = await start();
  closers.push(() => example.kill());
});
afterEach(async () => {
  for (const close of closers.reverse()) await close();
  closers = [];
});

it("examples/dynamodb.ts handles each alarm once, also after kill -9, and shuts down in order on SIGTERM", async () => {
  const sent = await freshAlarm();
  expect(await post(example.url, sent)).toEqual(HANDLED);
  expect(await post(example.url, sent)).toEqual(DUPLICATE);
  expect(example.printed).toEqual([`${sent.id}: email_hacked, severity High`]);
  await example.kill();
  example = await start();
  expect(await post(example.url, sent)).toEqual(DUPLICATE);
  const second = await freshAlarm();
  expect(await post(example.url, second)).toEqual(HANDLED);
  expect(await example.terminate()).toEqual([0, null]);
  expect(example.printed).toEqual([`${second.id}: email_hacked, severity High`]);
});
