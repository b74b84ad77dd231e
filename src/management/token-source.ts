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

/** The token of a client. A function is called for the first call, and again after a 401. */
export class TokenSource {
  readonly #given: TokenOption;
  readonly #timeoutMs: number;
  /** Shared by concurrent calls, so that each renewal logs in once. */
  #current: Promise<string> | undefined;

  /** Throws `ConfigurationError` for a text that cannot be a token. */
  constructor(given: TokenOption, timeoutMs: number) {
    if (typeof given !== "function" && !isToken(given)) {
      throw invalidOption(
        "token must be a CRM token without spaces, or a function that returns one: is the variable set?",
      );
    }
    this.#given = given;
    this.#timeoutMs = timeoutMs;
  }

  /** The token to use now. Rejects with a `ManagementError` of code `no_token`. */
  async current(): Promise<string> {
    if (typeof this.#given === "string") return this.#given;
    const loading = (this.#current ??= this.#load(this.#given));
    try {
      return await loading;
    } catch (error) {
      if (this.#current === loading) this.#current = undefined;
      throw error;
    }
  }

  /** Forgets `refused`, so that the next call gets a new token. False if there is no other. */
  async renew(refused: string): Promise<boolean> {
    if (typeof this.#given === "string") return false;
    const current = this.#current;
    // Another call may have renewed it meanwhile.
    const known = await current?.catch(() => undefined);
    if (known === refused && this.#current === current) this.#current = undefined;
    return true;
  }

  async #load(load: () => MaybePromise<string>): Promise<string> {
    let token: unknown;
    try {
      const loaded: unknown = load();
      token = isPromise(loaded)
        ? await within(this.#timeoutMs, "the token function", loaded)
        : loaded;
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
}

function isToken(value: unknown): value is string {
  return typeof value === "string" && TOKEN.test(value);
}
