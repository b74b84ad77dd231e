export { openTelemetry, type OpenTelemetryOptions } from "./open-telemetry.js";
export type { WebhookTelemetry } from "../telemetry.js";
