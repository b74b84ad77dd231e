import { metrics, trace } from "@opentelemetry/api";

/** Where each copy of `@opentelemetry/api` puts what an SDK registers, one symbol for each major version. */
const API_SYMBOL = /^opentelemetry\.js\.api\.(\d+)$/;

interface RegisteredApi {
  readonly version?: unknown;
  readonly trace?: unknown;
  readonly metrics?: unknown;
}

/** Whether an SDK has registered a meter provider with our copy of the API. */
export function hasMeterProvider(): boolean {
  return registered().some(
    ({ metrics: ours }) => ours !== undefined && ours === metrics.getMeterProvider(),
  );
}

const OUR_API = Symbol.for("opentelemetry.js.api.1");

/** Whether an SDK has registered a tracer provider. Cheap, since each request asks. */
export function hasTracerProvider(): boolean {
  const api = (globalThis as { readonly [OUR_API]?: RegisteredApi })[OUR_API];
  return api?.trace !== undefined;
}

/**
 * The warning about an SDK that is registered with a copy of the API other than ours, which then does
 * nothing without a word; undefined if there is none. A newer minor version of the API does not use what an older one
 * has registered, and a major version does not know another one.
 */
export function secondCopyWarning(): string | undefined {
  const stranger = registered().find(
    (api) =>
      (api.trace !== undefined && api.trace !== trace.getTracerProvider()) ||
      (api.metrics !== undefined && api.metrics !== metrics.getMeterProvider()),
  );
  if (stranger === undefined) return undefined;
  return (
    `an OpenTelemetry SDK is registered with another copy of @opentelemetry/api (${String(stranger.version)})` +
    " than identity-gateway-webhooks/opentelemetry loads, so nothing is exported. See `npm ls" +
    " @opentelemetry/api`: install one version, at most as new as the SDK's, or pass tracerProvider and meterProvider"
  );
}

function registered(): readonly RegisteredApi[] {
  return Object.getOwnPropertySymbols(globalThis)
    .filter(({ description = "" }) => API_SYMBOL.test(description))
    .map((symbol) => (globalThis as Record<symbol, RegisteredApi | undefined>)[symbol] ?? {});
}
