export { openTelemetry, type OpenTelemetryOptions } from "./open-telemetry.js";
export type { Telemetry } from "../telemetry.js";
