/** The stable codes of `InvalidValueError`, one per cause. A minor version may add members. */
export type InvalidValueErrorCode =
  "invalid_gateway_time" | "invalid_delivery_id" | "invalid_timestamp";

/** A value given to `parseGatewayTime` or `signDelivery` is not of the gateway's grammar. */
export class InvalidValueError extends RangeError {
  override readonly name = "InvalidValueError";

  constructor(
    /** Which value it is. Stable, so that code can branch on it. */
    readonly code: InvalidValueErrorCode,
    message: string,
  ) {
    super(message);
  }
}
