import type { CallOptions } from "../../common/aws-clients.js";
import { type CallLimits, clientTimeoutMs } from "../call-limits.js";
import { itemKey, readItem, type DeliveryState } from "./delivery-item.js";
import type { Attributes, ConditionalWrite, DynamoClient } from "./dynamo-client.js";

/** A condition, with the values that it names. */
export interface Condition {
  readonly expression: string;
  readonly values?: Attributes;
}

/** What became of a conditional write. */
export type WriteResult =
  | { readonly written: true }
  /** The condition did not hold. `state`: that of the delivery; undefined if it has no item. */
  | { readonly written: false; readonly state: DeliveryState | undefined };

type Sent = (write: ConditionalWrite, options: CallOptions) => Promise<unknown>;

/** Writes to one table. Each is one request, which `send` makes, carried out only if its condition holds. */
export function conditionalWrites(client: DynamoClient, table: string, limits: CallLimits) {
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
