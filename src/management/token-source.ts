import { invalidOption } from "../common/errors.js";
import { isPromise, type MaybePromise } from "../common/promises.js";
import { DeadlineError, within } from "../common/timers.js";
import { ManagementError } from "./management-error.js";

/**
 * A CRM token, or a function that logs in and returns a new one.
 *
 * @experimental
 */
export type TokenOption = string | (() => MaybePromise<string>);

/** What can stand in a header. Any other text would make `fetch` throw an error that quotes the token. */
const TOKEN = /^[\x21-\x7e]+$/;

export type TokenSource = ReturnType<typeof tokenSource>;

/**
 * The token of a client. A function is called for the first call, and again after a 401. Throws `ConfigurationError`
 * for a text that cannot be a token.
 */
export function tokenSource(given: TokenOption, timeoutMs: number) {
  if (typeof given !== "function" && !isToken(given)) {
    throw invalidOption(
      "token must be a CRM token without spaces, or a function that returns one: is the variable set?",
    );
  }
  /** Shared by concurrent calls, so that each renewal logs in once. */
  let shared: Promise<string> | undefined;
  return {
    /** The token to use now. Rejects with a `ManagementError` of code `no_token`. */
    async current(): Promise<string> {
      if (typeof given === "string") return given;
      const loading = (shared ??= load(given, timeoutMs));
      try {
        return await loading;
      } catch (error) {
        if (shared === loading) shared = undefined;
        throw error;
      }
    },

    /** Forgets `refused`, so that the next call gets a new token. False if there is no other. */
    async renew(refused: string): Promise<boolean> {
      if (typeof given === "string") return false;
      const before = shared;
      // Another call may have renewed it meanwhile.
      const known = await before?.catch(() => undefined);
      if (known === refused && shared === before) shared = undefined;
      return true;
    },
  };
}

async function load(call: () => MaybePromise<string>, timeoutMs: number): Promise<string> {
  let token: unknown;
  try {
    const loaded: unknown = call();
    token = isPromise(loaded) ? await within(timeoutMs, "the token function", loaded) : loaded;
  } catch (error) {
    if (error instanceof ManagementError) throw error;
    // Its message may hold the password of a login.
    const what = error instanceof DeadlineError ? error.message : "the token function threw";
    throw new ManagementError("no_token", what);
  }
  if (isToken(token)) return token;
  throw new ManagementError(
    "no_token",
    "the token function must return a token: a text without spaces",
  );
}

function isToken(value: unknown): value is string {
  return typeof value === "string" && TOKEN.test(value);
}
