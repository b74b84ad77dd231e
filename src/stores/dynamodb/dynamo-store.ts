import {
  type Attributes,
  checkDynamoClient,
  tableName,
  type DynamoClient,
  type ConditionalWrite,
} from "./dynamo-client.js";
import {
  itemKey,
  KEY_ATTRIBUTE,
  TTL_ATTRIBUTE,
  claimResult,
  itemOf,
  number,
  type DeliveryState,
  readItem,
} from "./delivery-item.js";
import { CallLimits, clientTimeoutMs } from "../call-limits.js";
import { unexpectedResult, invalidOption } from "../../common/errors.js";
import { integerOption, ownOptions } from "../../common/option-checks.js";
import type { DeliveryStore } from "../delivery-store.js";
import type { CallOptions } from "../../common/aws-clients.js";

/** Options of `dynamoStore`. */
export interface DynamoStoreOptions {
  /**
   * A `DynamoDB` of `@aws-sdk/client-dynamodb` 3: `new DynamoDB(config)`, with the config of a
   * `DynamoDBClient`. A `DocumentClient` does not fit.
   */
  readonly client: DynamoClient;
  /**
   * Name or ARN of the table: 3 to 255 letters, digits and `_.-`. Default `"gateway_deliveries"`. Create it
   * with `createDynamoTable`. Give each application a table of its own.
   */
  readonly table?: string | undefined;
  /**
   * The largest difference between the clocks of two hosts, in milliseconds: a whole number from 0 to
   * 60 000, default 2 000. Another host takes over a lease that much after its end. If the clocks differ
   * by more, a host whose clock is ahead may take over a lease that is still held, and the delivery is
   * then handled twice.
   */
  readonly clockSkewMs?: number | undefined;
  /** The clock, in Unix milliseconds. Default `Date.now`. For tests. */
  readonly now?: (() => number) | undefined;
}

const CLOCK_SKEW = { fallback: 2_000, min: 0, max: 60_000 };
/** Each attempt after the first means that another owner has changed the item in the meantime. */
const MAX_CLAIM_ATTEMPTS = 20;

/**
 * A store in a table of DynamoDB, shared by any number of processes and hosts. Each method is one
 * conditional write, and a second one if another owner was there first. DynamoDB has no clock that a
 * condition can use, so the clocks of the hosts decide: see `clockSkewMs`.
 *
 * A call that has no answer 2 seconds after the receiver's `dependencyTimeoutMs` (10 seconds if no receiver
 * uses the store) is aborted. It rejects with the error of the SDK if DynamoDB throttles, refuses or does
 * not answer, after the SDK's own retries; the gateway is then answered 503.
 *
 * @throws ConfigurationError (`unknown_option`, `invalid_option`, `invalid_options`) for options that
 * cannot work; (`unsupported_version`) for a client of a version that cannot work.
 * @example
 * ```ts
 * import { DynamoDB } from "@aws-sdk/client-dynamodb";
 *
 * const store = dynamoStore({ client: new DynamoDB({}) });
 * const receiver = createWebhookReceiver({ secret, store, handlers });
 * ```
 */
export function dynamoStore(options: DynamoStoreOptions): DeliveryStore {
  const own = ownOptions("dynamoStore", options, ["client", "table", "clockSkewMs", "now"]);
  const { client, now = Date.now } = own;
  checkDynamoClient(client, ["getItem", "putItem", "updateItem", "deleteItem"]);
  const clockSkewMs = integerOption("clockSkewMs", own.clockSkewMs, CLOCK_SKEW);
  if (typeof now !== "function") {
    throw invalidOption("now must be a function that returns milliseconds");
  }
  const table = tableName(own.table);
  const limits = new CallLimits();
  const write = conditionalWrites(client, table, limits);
  const put = (id: string, item: Attributes, condition: Condition) =>
    write(id, condition, (given, options) => client.putItem({ ...given, Item: item }, options));
  /** Changes attributes of an item. `condition` also has the values of `change`. */
  const update = (id: string, change: string, condition: Condition) =>
    write(id, condition, (given, options) =>
      client.updateItem({ ...given, Key: itemKey(id), UpdateExpression: change }, options),
    );

  return {
    scope: table,

    async claim(key, owner, { leaseMs, retentionMs }) {
      // Read once: the receiver counts its lease from the call, and not from its last attempt.
      const calledAt = now();
      const leaseEndsAt = calledAt + leaseMs;
      let held: DeliveryState | undefined;
      for (let attempt = 1; attempt <= MAX_CLAIM_ATTEMPTS; attempt++) {
        const result = claimResult(held, { owner, leaseMs, now: calledAt, clockSkewMs });
        if (result.state !== "claimed") return result;
        // The answer to our own write was lost, and the SDK has sent it again.
        if (isLease(held, owner) && held.leaseEndsAt === leaseEndsAt) return result;
        const lease = { heldBy: owner, leaseEndsAt, takeover: result.takeover };
        const item = itemOf(key, lease, leaseEndsAt + retentionMs);
        const wrote = await put(key, item, unchanged(held));
        if (wrote.written) return result;
        held = wrote.state;
      }
      throw unexpectedResult("DynamoDB refused each attempt of a claim");
    },

    async renew(key, owner, { leaseMs }) {
      const calledAt = now();
      // Never to an earlier time: an attempt of an earlier renewal may arrive after a later one.
      const renewed = await update(key, `SET leaseEndsAt = :end ADD ${TTL_ATTRIBUTE} :seconds`, {
        expression: "heldBy = :owner AND leaseEndsAt > :now AND leaseEndsAt < :end",
        values: {
          ":owner": { S: owner },
          ":now": number(calledAt),
          ":end": number(calledAt + leaseMs),
          ":seconds": number(Math.ceil(leaseMs / 1000)),
        },
      });
      if (renewed.written) return true;
      return isLease(renewed.state, owner) && renewed.state.leaseEndsAt > calledAt;
    },

    async complete(key, _owner, { retentionMs }) {
      const calledAt = now();
      const completedUntil = calledAt + retentionMs;
      // A completion within its retention is never written again.
      const item = itemOf(key, { completedUntil }, completedUntil);
      const isOpen = {
        expression: "attribute_not_exists(completedUntil) OR completedUntil <= :expired",
        values: { ":expired": number(calledAt - clockSkewMs) },
      };
      await put(key, item, isOpen);
    },

    async release(key, owner) {
      const values = { ":owner": { S: owner } };
      const isFirst = {
        expression: "heldBy = :owner AND attribute_not_exists(takeover)",
        values,
      };
      const released = await write(key, isFirst, (given, options) =>
        client.deleteItem({ ...given, Key: itemKey(key) }, options),
      );
      if (released.written || !isLease(released.state, owner)) return;
      // A takeover stays, and any host may take it over at once.
      await update(key, "SET leaseEndsAt = :released", {
        expression: "heldBy = :owner",
        values: { ...values, ":released": number(0) },
      });
    },

    connectReceiver: ({ dependencyTimeoutMs }) => limits.allow(dependencyTimeoutMs),
  };
}

/** The condition that a delivery is still in `state`. */
function unchanged(state: DeliveryState | undefined): Condition {
  if (state === undefined) return { expression: `attribute_not_exists(${KEY_ATTRIBUTE})` };
  if ("completedUntil" in state) {
    return {
      expression: "completedUntil = :completedUntil",
      values: { ":completedUntil": number(state.completedUntil) },
    };
  }
  // An owner that claims again or renews changes the end, so the mark of a takeover need not be compared.
  return {
    expression: "heldBy = :heldBy AND leaseEndsAt = :leaseEndsAt",
    values: { ":heldBy": { S: state.heldBy }, ":leaseEndsAt": number(state.leaseEndsAt) },
  };
}

function isLease(
  state: DeliveryState | undefined,
  owner: string,
): state is Extract<DeliveryState, { heldBy: string }> {
  return state !== undefined && "heldBy" in state && state.heldBy === owner;
}

/** A condition, with the values that it names. */
interface Condition {
  readonly expression: string;
  readonly values?: Attributes;
}

/** What became of a conditional write. */
type WriteResult =
  | { readonly written: true }
  /** The condition did not hold. `state`: that of the delivery; undefined if it has no item. */
  | { readonly written: false; readonly state: DeliveryState | undefined };

type Sent = (write: ConditionalWrite, options: CallOptions) => Promise<unknown>;

/** Writes to one table. Each is one request, which `send` makes, carried out only if its condition holds. */
function conditionalWrites(client: DynamoClient, table: string, limits: CallLimits) {
  return async (id: string, condition: Condition, send: Sent): Promise<WriteResult> => {
    const { expression, values } = condition;
    // By default the SDK waits without a limit, and a network that drops packets would use up its
    // sockets.
    const options = { abortSignal: AbortSignal.timeout(clientTimeoutMs(limits.ms)) };
    const write: ConditionalWrite = {
      TableName: table,
      ConditionExpression: expression,
      ...(values === undefined ? {} : { ExpressionAttributeValues: values }),
      ReturnValuesOnConditionCheckFailure: "ALL_OLD",
    };
    try {
      await send(write, options);
      return { written: true };
    } catch (error) {
      const failure = Object(error) as { name?: unknown; Item?: Record<string, unknown> };
      if (failure.name !== "ConditionalCheckFailedException") throw error;
      // For servers and releases of the SDK that do not return the item with the failure.
      const input = { TableName: table, Key: itemKey(id), ConsistentRead: true } as const;
      const item = failure.Item ?? (await client.getItem(input, options)).Item;
      return { written: false, state: item === undefined ? undefined : readItem(item) };
    }
  };
}
