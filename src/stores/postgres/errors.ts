/** The SQLSTATE codes that the stores react to. */
export const SQLSTATE = {
  activeTransaction: "25001",
  noTransaction: "25P01",
  abortedTransaction: "25P02",
  noSuchSavepoint: "3B001",
  serializationFailure: "40001",
  deadlockDetected: "40P01",
  queryCanceled: "57014",
  lockNotAvailable: "55P03",
  unknownStatementName: "26000",
  usedStatementName: "42P05",
} as const;

/** The SQLSTATE of an error from the server. */
export function sqlStateOf(error: unknown): unknown {
  return typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
}

/** Whether the server rolled back and the same statement may succeed at the next attempt. */
export function isSerializationFailure(error: unknown): boolean {
  const code = sqlStateOf(error);
  return code === SQLSTATE.serializationFailure || code === SQLSTATE.deadlockDetected;
}

const ENDED_BY_SERVER: readonly unknown[] = [
  SQLSTATE.queryCanceled,
  SQLSTATE.lockNotAvailable,
  SQLSTATE.unknownStatementName,
  SQLSTATE.usedStatementName,
  SQLSTATE.serializationFailure,
  SQLSTATE.deadlockDetected,
];

/** Whether the server only ended the statement, so that the connection is still good. */
export function isStatementEnded(error: unknown): boolean {
  return ENDED_BY_SERVER.includes(sqlStateOf(error));
}
