import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, symlinkSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { sampleAlarm, sampleOnlineDataEvent, signedDelivery } from "../../kit/index.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { describeService } from "../support/describe-service.js";
import { rowsOfRun } from "../support/extent.js";
import { freePort } from "../support/free-port.js";
import { installPackage, REPOSITORY } from "../support/package/installed-package.js";
import { readMarkdown } from "../support/package/markdown.js";

/** What `nest new` writes into tsconfig.json, as far as it decides about the result. */
const NEST_COMPILER_OPTIONS = {
  noEmit: false,
  outDir: "dist",
  rootDir: "src",
  target: "ES2023",
  esModuleInterop: true,
  emitDecoratorMetadata: true,
  experimentalDecorators: true,
  skipLibCheck: true,
};

/** The compiler options of a Nest project that are not the same in all. */
const MODULE_OPTIONS = {
  /** That of Nest 10. */
  node10: { module: "commonjs", moduleResolution: "node10", ignoreDeprecations: "6.0" },
  /** That of Nest 11 and 12. */
  nodenext: { module: "nodenext", moduleResolution: "nodenext", isolatedModules: true },
};

/** A Nest project with the packed package and a Nest of `test/platforms/`. */
type NestProject = ReturnType<typeof installForNest>;

/** Installs the package beside the packages of one major version of Nest. */
function installForNest(nest: "nest-10" | "nest-11" | "nest-12", type: "module" | "commonjs") {
  const project = installPackage(type);
  for (const name of ["@nestjs", "reflect-metadata", "rxjs"]) {
    const from = path.join(REPOSITORY, "test/platforms", nest, "node_modules", name);
    symlinkSync(from, path.join(project.folder, "node_modules", name), "dir");
  }
  project.borrow("vitest");
  const options = MODULE_OPTIONS[nest === "nest-10" ? "node10" : "nodenext"];
  return {
    ...project,
    /** Compiles the files in `src/` into `dist/`. Returns the compiler's errors, or "". */
    build: (files: readonly string[]) =>
      project.typeCheck({ ...NEST_COMPILER_OPTIONS, ...options }, files),
    /** Runs a compiled test, with the globals of the runner; returns what it says. Throws if it fails. */
    test(file: string, secret: string) {
      const vitest = path.join(REPOSITORY, "node_modules/vitest/vitest.mjs");
      const options = ["--globals", "--testTimeout=120000", "--root", project.folder];
      return project.node([vitest, "run", ...options, file], {
        NO_COLOR: "1",
        GATEWAY_WEBHOOK_SECRET: secret,
      });
    },
  };
}

/** Starts a compiled file of a project and waits until it listens. */
async function startNestProject({ folder }: NestProject, main: string, secret: string) {
  const port = await freePort();
  const env = { ...process.env, PORT: String(port), GATEWAY_WEBHOOK_SECRET: secret, NO_COLOR: "1" };
  const child = spawn(process.execPath, [main], { cwd: folder, env });
  const ended = once(child, "exit") as Promise<[number | null, string | null]>;
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (text: Buffer) => (output += text.toString()));
  }
  const url = `http://127.0.0.1:${port}`;
  const failed = ended.then(() => Promise.reject(new Error(`the app did not start:\n${output}`)));
  await Promise.race([vi.waitFor(() => fetch(url), 60_000), failed]);
  return {
    url,
    output: () => output,
    /** Sends SIGTERM; resolves to the signal or the code with which the process ended. */
    async stop() {
      child.kill("SIGTERM");
      const [code, signal] = await ended;
      return signal ?? String(code);
    },
  };
}

const PAGE = readMarkdown("docs/nestjs.md");
const FILE = /^\/\/ (src\/\S+\.ts)\n/;

const SNIPPETS: Readonly<Record<string, string>> = Object.fromEntries(
  PAGE.snippets("ts").map((code) => [FILE.exec(code)?.[1] ?? "a snippet without a file", code]),
);

/** As the page says. */
function onFastify(main: string): string {
  const adapted = main.replace("create(AppModule)", "create(AppModule, new FastifyAdapter())");
  return `import { FastifyAdapter } from "@nestjs/platform-fastify";\n${adapted}`;
}

/** Uses of the decorators that must not compile, and some that must. */
const WRONG_USES = `
  import type { Alarm, DeliveryContext, OnlineDataEvent, DataDeletedEvent } from "identity-gateway-webhooks";
  import { OnAlarm, OnOnlineDataEvent, OnUnrecognized, WebhookReceiverModule } from "identity-gateway-webhooks/nestjs";
  export class Uses {
    @OnAlarm() right(alarm: Alarm, context: DeliveryContext<{ query(sql: string): void }>) { return [alarm, context.tx]; }
    @OnAlarm() short() { return "no arguments"; }
    @OnOnlineDataEvent("DATA_DELETED") @OnOnlineDataEvent("DATA_REAPPEARED") union(event: OnlineDataEvent) { return event; }
    // @ts-expect-error: an alarm is no event
    @OnAlarm() event(event: OnlineDataEvent) { return event; }
    // @ts-expect-error: every event, and not only those of one type
    @OnOnlineDataEvent() narrow(event: DataDeletedEvent) { return event; }
    // @ts-expect-error: another type
    @OnOnlineDataEvent("DATA_REAPPEARED") other(event: DataDeletedEvent) { return event; }
    // @ts-expect-error: a misspelt type
    @OnOnlineDataEvent("DATA_DELETE") misspelt() { return 0; }
    // @ts-expect-error: the field of a class is no method
    @OnUnrecognized() field = 1;
    // @ts-expect-error: handlers take two arguments
    @OnAlarm() three(alarm: Alarm, context: DeliveryContext, third: string) { return [alarm, context, third]; }
  }
  const path = "/webhooks/gateway";
  WebhookReceiverModule.forRoot({ path, acceptUnsignedDeliveries: true });
  // @ts-expect-error: a secret is missing
  WebhookReceiverModule.forRoot({ path });
  // @ts-expect-error: the path is missing
  WebhookReceiverModule.forRoot({ secret: "s" });
  // @ts-expect-error: a misspelt option
  WebhookReceiverModule.forRoot({ path, secret: "s", handlerTimeout: 1 });
  // @ts-expect-error: handlers are providers
  WebhookReceiverModule.forRoot({ path, secret: "s", handlers: { new_alarm: () => 1 } });
  // @ts-expect-error: the factory forgets the path
  WebhookReceiverModule.forRootAsync({ useFactory: () => ({ secret: "s" }) });
`;

/** The files of the page, and those that it takes for granted. */
const FILES: Readonly<Record<string, string>> = {
  ...SNIPPETS,
  "src/main-fastify.ts": onFastify(SNIPPETS["src/main.ts"] ?? ""),
  "src/wrong-uses.ts": WRONG_USES,
  "src/globals.d.ts": 'import "vitest/globals";',
  "src/sites.ts": `
    import { Injectable } from "@nestjs/common";
    @Injectable()
    export class Sites {
      async reopen(account: number, site: number) { console.log("reopen", account, site); }
      async record(account: number, type: string) { console.log("record", account, type); }
    }`,
  "src/settings.ts": `
    import { Module } from "@nestjs/common";
    export class Settings { async gatewaySecret() { return "whsec_test_0123456789abcdef"; } }
    @Module({ providers: [Settings], exports: [Settings] })
    export class SettingsModule {}`,
};

const missing = ["nest-10", "nest-11", "nest-12"].find(
  (name) => !existsSync(path.join(REPOSITORY, "test/platforms", name, "node_modules/@nestjs")),
);

const projects = rowsOfRun(
  [
    ["Nest 10", "nest-10", "commonjs"],
    ["Nest 11", "nest-11", "commonjs"],
    ["Nest 11 in ES modules", "nest-11", "module"],
    ["Nest 12", "nest-12", "module"],
  ] as const,
  ([title]) => !title.startsWith("Nest 11"),
);

test("a first delivery of each type takes at most 12 lines of the partner's own code, besides closing brackets", () => {
  const skeleton = /^(import |\/\/|@Module|export class AppModule|\s*[})]+$|$)/;
  const lines = ["src/gateway-handlers.ts", "src/app.module.ts"].flatMap((file) =>
    (FILES[file] ?? "").split("\n").filter((line) => !skeleton.test(line)),
  );
  expect(lines.length).toBeGreaterThan(5);
  expect(lines.length).toBeLessThanOrEqual(12);
});

const requirement = missing === undefined ? undefined : `${missing} is not installed`;
describeService("a Nest project from the page alone", requirement, () => {
  describe.each(rowsOfRun(projects, ([title]) => !title.startsWith("Nest 11")))(
    "%s",
    (title, nest, type) => {
      let project: NestProject;
      let errors: string;
      beforeAll(() => {
        project = installForNest(nest, type);
        for (const [file, code] of Object.entries(FILES)) project.write(file, code);
        errors = project.build(Object.keys(FILES));
      });
      afterAll(() => {
        project.remove();
      });

      test(`the snippets of docs/nestjs.md compile in a project of ${title}, and wrong uses do not`, () => {
        expect(Object.keys(FILES)).toHaveLength(12);
        expect(errors).toBe("");
      });

      test.each([
        ["Express", "dist/main.js"],
        ["Fastify", "dist/main-fastify.js"],
      ])(
        `an app of ${title} on %s, written from the page, handles both webhook types and ends on SIGTERM`,
        async (_, main) => {
          const app = await startNestProject(project, main, TEST_SECRET);
          const secret = TEST_SECRET;
          const event = sampleOnlineDataEvent("DATA_DELETED");
          for (const delivery of [
            await signedDelivery({ secret, id: "first", alarm: sampleAlarm() }),
            await signedDelivery({ secret, id: "second", event }),
          ]) {
            const response = await fetch(`${app.url}/webhooks/gateway`, delivery);
            expect([response.status, await response.text()]).toEqual([
              200,
              '{"outcome":"handled"}',
            ]);
          }
          expect(await app.stop()).toBe("SIGTERM");
          expect(app.output()).toMatch(/^first: \w+, severity /m);
          expect(app.output()).toMatch(/^second: DATA_DELETED$/m);
        },
      );

      test(`the test of the page passes in a project of ${title}`, () => {
        expect(project.test("dist/app.spec.js", TEST_SECRET)).toMatch(/Tests +1 passed/);
      });

      test(`the module of the page with injected options starts in a project of ${title}`, () => {
        const script = `import("./dist/webhooks.module.js").then(async (own) => {
        const { NestFactory } = await import("@nestjs/core");
        const app = await NestFactory.create((own.default ?? own).WebhooksModule, { logger: false });
        await app.init();
        await app.close();
        console.log("closed");
      });`;
        expect(project.node(["--eval", script]).trim()).toBe("closed");
      });
    },
  );
});
