/**
 * An environment variable. Undefined where it is not set, where the runtime has no `process`, and where
 * it throws, as Deno does without the permission for it.
 */
export function environmentVariable(name: string): string | undefined {
  const { process } = globalThis as {
    process?: { readonly env?: Readonly<Record<string, string | undefined>> };
  };
  try {
    return process?.env?.[name];
  } catch {
    return undefined;
  }
}
