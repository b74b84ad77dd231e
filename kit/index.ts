export { sampleAlarm, ALARM_EVENT_TYPES } from "./samples/sample-alarm.js";
export {
  sampleOnlineDataEvent,
  type OnlineDataEventOf,
} from "./samples/sample-online-data-event.js";
export type { DateFormat, SampleOptions } from "./samples/sample-options.js";
export {
  signedDelivery,
  TEST_SECRET,
  type AlarmToSign,
  type BodyToSign,
  type EventToSign,
  type SignedDelivery,
  type SignedDeliveryHeaders,
  type SignedDeliveryOptions,
} from "./signed-delivery.js";

export { loadFixtures } from "./fixtures/load-fixtures.js";
export { replayFixtures, type ReplayOptions } from "./fixtures/replay-fixtures.js";
export type { ReplayReport, ReplayResult } from "./fixtures/replay-report.js";
export {
  formatFixture,
  parseFixture,
  type Fixture,
  type FixtureExpectation,
} from "./fixtures/fixture.js";
export { FixtureError, type FixtureErrorCode } from "./fixtures/fixture.js";

export {
  recordFixtures,
  type FixtureRecorder,
  type RecordFixturesOptions,
} from "./recorder/record-fixtures.js";
export type { RedactionRules } from "./recorder/redaction-rules.js";
export type { FixtureRefusal, PersonalDataFinding } from "./recorder/fixture-refusal.js";
export { findPersonalData, type PersonalDataKind } from "./recorder/personal-data.js";

export { createGatewayTwin, type GatewayTwin } from "./twin/gateway-twin.js";
export type {
  DeliverManyOptions,
  DeliverOptions,
  GatewayTwinOptions,
  SingleTargetTwinOptions,
  WebhooksTwinOptions,
} from "./twin/twin-options.js";
export type { TwinAttempt, TwinDelivery, TwinEnd } from "./twin/twin-delivery.js";
export type { TwinEvent } from "./twin/twin-event.js";
export type { TwinReport } from "./twin/twin-report.js";
export type { TwinWebhook } from "./twin/twin-webhook.js";
export { createGatewayApi, type GatewayApi } from "./gateway-api/gateway-api.js";
export type { GatewayApiOptions, StoredAttempt } from "./gateway-api/api-options.js";
export type { ApiAddress, ListeningApi } from "./gateway-api/api-server.js";
export type { RetryOptions } from "./twin/retry-schedule.js";
export type { Fault, FaultOptions } from "./twin/faults.js";
export type { AttemptResult, UnlistedStatusRule } from "./twin/attempt-result.js";
export type { TwinClock } from "./twin/twin-clock.js";
export { createScaledClock } from "./twin/scaled-clock.js";
export {
  createVirtualClock,
  type VirtualClock,
  type VirtualClockOptions,
} from "./twin/virtual-clock.js";

export { receiverConformance } from "./conformance/receiver-conformance.js";
export { runOrSkip, type SkippableTest } from "./run-or-skip.js";
export type { ConformanceOptions } from "./conformance/conformance-options.js";
export {
  ConformanceFailure,
  type ConformanceCase,
  type ConformanceDescription,
  type ConformanceExchange,
  type ConformanceGroup,
  type ConformanceLevel,
  type ConformanceResult,
} from "./conformance/conformance-case.js";
export {
  runConformance,
  type ConformanceCaseReport,
  type ConformanceCounts,
  type ConformanceReport,
  type RunConformanceOptions,
} from "./conformance/run-conformance.js";
export type { NeverProven } from "./conformance/never-proven.js";

export {
  deliveryStoreContract,
  type DeliveryStoreContractOptions,
} from "./store-contract/delivery-store-contract.js";
export { transactionalStoreContract } from "./store-contract/transactional-store-contract.js";
export {
  type ContractCase,
  type ContractResult,
  type MakeStore,
  type StoreUnderTest,
  type TransactionalStoreUnderTest,
} from "./store-contract/contract-case.js";

export type { ExpectedAnswer } from "./diagnosis/expected-answer.js";
export type { OutcomeAndStatus } from "./plain-receiver.js";
export {
  diagnoseSignature,
  type DiagnoseSignatureOptions,
  type SignatureDiagnosis,
} from "./diagnosis/diagnose-signature.js";
export type {
  DeliveryHeaderName,
  SignatureFinding,
  FindingCertainty,
  FindingDetails,
} from "./diagnosis/finding.js";
export type { SignatureFindingCode } from "./diagnosis/finding-codes.js";
export type { DiagnosedSecret } from "./diagnosis/given-secrets.js";
export type { SearchCounts } from "./diagnosis/signature-search.js";
export { parseCapturedRequest } from "./diagnosis/parse-captured-request.js";
export type { CapturedRequest } from "./diagnosis/captured-request.js";
export { CaptureError, type CaptureErrorCode } from "./diagnosis/captured-request.js";

export { SendError, type WebhookTarget } from "./sending/target.js";
