import { CallLimits, clientTimeoutMs } from "../call-limits.js";
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

/** The writes to one table. Each is one request, carried out only if its condition holds. */
export class ConditionalWrites {
  readonly limits = new CallLimits();
  readonly #client: DynamoClient;
  readonly #table: string;

  constructor(client: DynamoClient, table: string) {
    this.#client = client;
    this.#table = table;
  }

  /** Writes the whole item. */
  put(id: string, item: Attributes, condition: Condition): Promise<WriteResult> {
    return this.#write(id, condition, (write, options) =>
      this.#client.putItem({ ...write, Item: item }, options),
    );
  }

  /** Changes attributes of the item. `condition` also has the values of `change`. */
  update(id: string, change: string, condition: Condition): Promise<WriteResult> {
    return this.#write(id, condition, (write, options) =>
      this.#client.updateItem({ ...write, Key: itemKey(id), UpdateExpression: change }, options),
    );
  }

  delete(id: string, condition: Condition): Promise<WriteResult> {
    return this.#write(id, condition, (write, options) =>
      this.#client.deleteItem({ ...write, Key: itemKey(id) }, options),
    );
  }

  async #write(
    id: string,
    { expression, values }: Condition,
    send: (write: ConditionalWrite, options: { abortSignal: AbortSignal }) => Promise<unknown>,
  ): Promise<WriteResult> {
    // By default the SDK waits without a limit, and a network that drops packets would use up its
    // sockets.
    const options = { abortSignal: AbortSignal.timeout(clientTimeoutMs(this.limits.ms)) };
    try {
      await send(
        {
          TableName: this.#table,
          ConditionExpression: expression,
          ...(values === undefined ? {} : { ExpressionAttributeValues: values }),
          ReturnValuesOnConditionCheckFailure: "ALL_OLD",
        },
        options,
      );
      return { written: true };
    } catch (error) {
      const failure = Object(error) as { name?: unknown; Item?: Record<string, unknown> };
      if (failure.name !== "ConditionalCheckFailedException") throw error;
      const item = failure.Item ?? (await this.#read(id, options));
      return { written: false, state: item === undefined ? undefined : readItem(item) };
    }
  }

  /** For servers and releases of the SDK that do not return the item with the failure. */
  async #read(id: string, options: { abortSignal: AbortSignal }) {
    const input = { TableName: this.#table, Key: itemKey(id), ConsistentRead: true } as const;
    const { Item } = await this.#client.getItem(input, options);
    return Item;
  }
}
