import { spawn } from "node:child_process";
import { once } from "node:events";

/**
 * Runs shell commands, `atATime` of them at the same time, and prints what each has written when it ends. Resolves with
 * those that failed.
 */
export async function runCommands(
  commands: readonly string[],
  { atATime }: { readonly atATime: number },
): Promise<readonly string[]> {
  const waiting = [...commands];
  const failed: string[] = [];
  const work = async (): Promise<void> => {
    for (let command = waiting.shift(); command !== undefined; command = waiting.shift()) {
      const began = Date.now();
      const child = spawn(command, { shell: true, stdio: ["ignore", "pipe", "pipe"] });
      const written: Buffer[] = [];
      for (const stream of [child.stdout, child.stderr]) {
        stream.on("data", (data: Buffer) => written.push(data));
      }
      const [code] = (await once(child, "close")) as [number | null];
      const result = code === 0 ? "ended" : `failed with ${String(code)}`;
      const seconds = Math.round((Date.now() - began) / 1_000);
      process.stdout.write(Buffer.concat(written));
      process.stdout.write(`--- ${command}: ${result} after ${seconds} s\n`);
      if (code !== 0) failed.push(command);
    }
  };
  await Promise.all(Array.from({ length: atATime }, work));
  return failed;
}
