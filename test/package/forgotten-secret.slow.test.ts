import path from "node:path";
import ts from "typescript";
import { expect, test } from "vitest";
import { REPOSITORY } from "../support/package/installed-package.js";

/** The compiler's errors for a module in the folder of the type tests. */
function complaintsOf(code: string): readonly string[] {
  const config = path.join(REPOSITORY, "tsconfig.json");
  const { config: read } = ts.readConfigFile(config, (file) => ts.sys.readFile(file)) as {
    config: unknown;
  };
  const { options } = ts.parseJsonConfigFileContent(read, ts.sys, REPOSITORY);
  const file = path.join(REPOSITORY, "test/types/forgotten-secret.ts");
  const disk = ts.createCompilerHost(options);
  const host: ts.CompilerHost = {
    ...disk,
    fileExists: (name) => name === file || disk.fileExists(name),
    readFile: (name) => (name === file ? code : disk.readFile(name)),
    getSourceFile: (name, ...rest) =>
      name === file
        ? ts.createSourceFile(name, code, ts.ScriptTarget.ES2022)
        : disk.getSourceFile(name, ...rest),
  };
  const program = ts.createProgram([file], options, host);
  return program
    .getSemanticDiagnostics(program.getSourceFile(file))
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n"));
}

test("the compiler's message for a forgotten secret names secret, and never suggests accepting unsigned deliveries", () => {
  const complaints = complaintsOf(`
    import { createWebhookReceiver, type WebhookReceiverOptions } from "../../src/index.js";
    const handlers = { new_alarm: () => undefined };
    createWebhookReceiver({ handlers });
    createWebhookReceiver({ handlers, timestampToleranceMs: 60_000, logger: false });
    export const options: WebhookReceiverOptions = { handlers };
  `);
  expect(complaints).toHaveLength(3);
  for (const complaint of complaints) {
    expect(complaint).toMatch(/'secret' is missing/);
    expect(complaint).not.toContain("acceptUnsignedDeliveries");
    expect(complaint).not.toContain("UnsignedChoice");
  }
});
