import { expect } from "vitest";
import {
  createManagementClient,
  ManagementError,
  type ManagementClientOptions,
} from "../../../src/management/index.js";
import { rejectionOf } from "../thrown.js";

/** One answer of a scripted gateway, or an error that `fetch` rejects with. */
export type ScriptedAnswer =
  | {
      readonly status?: number;
      readonly json?: unknown;
      readonly text?: string;
      readonly headers?: Readonly<Record<string, string>>;
    }
  | Error
  | "hang";

/** A request that the gateway got. */
export interface SeenCall {
  readonly method: string;
  readonly path: string;
  readonly headers: Headers;
  readonly body: unknown;
}

export const TOKEN = "t0123456789012345678901234567890123456789";

/** A `fetch` with fixed answers, in their order. The last one repeats. */
export function scriptedGateway(...answers: readonly ScriptedAnswer[]) {
  const seen: SeenCall[] = [];
  const fetch = async (url: string, init: RequestInit): Promise<Response> => {
    const { method = "GET", headers, body, signal } = init;
    const answer = answers[Math.min(seen.length, answers.length - 1)] ?? {};
    const text = typeof body === "string" ? (JSON.parse(body) as unknown) : undefined;
    const { pathname, search } = new URL(url);
    seen.push({ method, path: pathname + search, headers: new Headers(headers), body: text });
    await Promise.resolve();
    if (answer instanceof Error) throw answer;
    if (answer === "hang") {
      return new Promise((_resolve, reject) => {
        const end = () => reject(signal?.reason as Error);
        if (signal?.aborted === true) end();
        signal?.addEventListener("abort", end);
      });
    }
    const content = answer.json === undefined ? answer.text : JSON.stringify(answer.json);
    return new Response(content ?? null, { status: answer.status ?? 200, ...answer });
  };
  return { fetch, seen };
}

/** A client of a scripted gateway that waits for nothing. */
export function scriptedClient(
  answers: readonly ScriptedAnswer[],
  options: Partial<ManagementClientOptions> = {},
) {
  const { fetch, seen } = scriptedGateway(...answers);
  const client = createManagementClient({
    baseUrl: "https://gateway.example",
    token: TOKEN,
    retryDelayMs: 1,
    fetch,
    ...options,
  });
  return { client, seen };
}

/** A webhook record in the standard format. */
export function webhookRecord(overrides: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    id: 7,
    title: "alarms",
    url: "https://partner.example/webhooks",
    type: "new_alarm",
    has_secret: true,
    is_active: true,
    skip_ssl_verification: false,
    enable_requests_history: true,
    created_at: "2026-07-08T10:00:00Z",
    ...overrides,
  };
}

/** The ManagementError that a call rejects with. */
export async function failure(work: Promise<unknown>): Promise<ManagementError> {
  const error = await rejectionOf(() => work);
  expect(error).toBeInstanceOf(ManagementError);
  return error as ManagementError;
}

/** The code of the error that a call rejects with. */
export async function codeOf(call: Promise<unknown>): Promise<string> {
  return (await failure(call)).code;
}
