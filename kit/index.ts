export { sampleAlarm, ALARM_EVENT_TYPES } from "./samples/sample-alarm.js";
export { sampleOnlineDataEvent } from "./samples/sample-online-data-event.js";
export { signedDelivery, TEST_SECRET, type SignedDelivery } from "./signed-delivery.js";

export { loadFixtures } from "./fixtures/load-fixtures.js";
export { replayFixtures, type ReplayOptions } from "./fixtures/replay-fixtures.js";
export type { ReplayReport, ReplayResult } from "./fixtures/replay-report.js";
export {
  FixtureError,
  formatFixture,
  parseFixture,
  type Fixture,
  type FixtureErrorCode,
} from "./fixtures/fixture.js";

export {
  recordFixtures,
  type FixtureRecorder,
  type RecordFixturesOptions,
} from "./recorder/record-fixtures.js";

export { createGatewayTwin, type GatewayTwin } from "./twin/gateway-twin.js";
export type { GatewayTwinOptions } from "./twin/twin-options.js";
export type { TwinAttempt, TwinDelivery } from "./twin/twin-delivery.js";
export type { TwinEvent } from "./twin/twin-event.js";
export type { TwinReport } from "./twin/twin-report.js";
export type { TwinWebhook } from "./twin/twin-webhook.js";
export { createGatewayApi, type GatewayApi } from "./gateway-api/gateway-api.js";
export type { GatewayApiOptions } from "./gateway-api/api-options.js";
export type { ListeningApi } from "./gateway-api/api-server.js";
export type { TwinClock } from "./twin/twin-clock.js";
export { createScaledClock } from "./twin/scaled-clock.js";
export { createVirtualClock, type VirtualClock } from "./twin/virtual-clock.js";

export { startListener, type WebhookListener } from "./listener/start-listener.js";
export type { ListenedDelivery } from "./listener/listened-delivery.js";

export { receiverConformance } from "./conformance/receiver-conformance.js";
export { runOrSkip } from "./run-or-skip.js";
export type { ConformanceOptions } from "./conformance/conformance-options.js";
export { ConformanceFailure, type ConformanceCase } from "./conformance/conformance-case.js";
export {
  runConformance,
  type ConformanceCaseReport,
  type ConformanceReport,
} from "./conformance/run-conformance.js";

export { deliveryStoreContract } from "./store-contract/delivery-store-contract.js";
export { queueDriverContract } from "./queue-contract/queue-driver-contract.js";
export type { QueueUnderTest } from "./queue-contract/queue-clients.js";
export { transactionalStoreContract } from "./store-contract/transactional-store-contract.js";
export type {
  ContractCase,
  StoreUnderTest,
  TransactionalStoreUnderTest,
} from "./store-contract/contract-case.js";

export {
  diagnoseSignature,
  type DiagnoseSignatureOptions,
  type SignatureDiagnosis,
} from "./diagnosis/diagnose-signature.js";
export type { SignatureFinding } from "./diagnosis/finding.js";
export type { SignatureFindingCode } from "./diagnosis/finding-codes.js";
export { parseCapturedRequest } from "./diagnosis/parse-captured-request.js";
export {
  CaptureError,
  type CapturedRequest,
  type CaptureErrorCode,
} from "./diagnosis/captured-request.js";

export { SendError, type WebhookTarget } from "./sending/target.js";
