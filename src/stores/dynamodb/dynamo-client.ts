import { invalidOption } from "../../common/errors.js";
import { checkAwsClient, type CallOptions } from "../../common/aws-clients.js";

/** A value of an item, in the format of DynamoDB. */
export type AttributeValue =
  { readonly S: string } | { readonly N: string } | { readonly BOOL: boolean };

/** The attributes of an item by name. */
export type Attributes = Record<string, AttributeValue>;

/** A write that DynamoDB carries out only if its condition holds. */
export interface ConditionalWrite {
  TableName: string;
  ConditionExpression: string;
  ExpressionAttributeValues?: Attributes;
  /** An older SDK or server ignores it. */
  ReturnValuesOnConditionCheckFailure: "ALL_OLD";
}

/**
 * The part of the AWS SDK's `DynamoDB` that `dynamoStore` uses. Made by `new DynamoDB(config)` of
 * `@aws-sdk/client-dynamodb` 3.
 */
export interface DynamoClient {
  send(...args: never): unknown;
  getItem(
    input: { TableName: string; Key: Attributes; ConsistentRead: true },
    options: CallOptions,
  ): Promise<{ Item?: Record<string, unknown> | undefined }>;
  putItem(input: ConditionalWrite & { Item: Attributes }, options: CallOptions): Promise<unknown>;
  updateItem(
    input: ConditionalWrite & { Key: Attributes; UpdateExpression: string },
    options: CallOptions,
  ): Promise<unknown>;
  deleteItem(input: ConditionalWrite & { Key: Attributes }, options: CallOptions): Promise<unknown>;
}

/** The part of the AWS SDK's `DynamoDB` that `createDynamoTable` uses. */
export interface DynamoTableClient {
  send(...args: never): unknown;
  createTable(input: {
    TableName: string;
    BillingMode: "PAY_PER_REQUEST";
    AttributeDefinitions: { AttributeName: string; AttributeType: "S" }[];
    KeySchema: { AttributeName: string; KeyType: "HASH" }[];
  }): Promise<unknown>;
  describeTable(input: { TableName: string }): Promise<{
    Table?:
      | {
          TableStatus?: string | undefined;
          KeySchema?:
            { AttributeName?: string | undefined; KeyType?: string | undefined }[] | undefined;
          AttributeDefinitions?:
            | { AttributeName?: string | undefined; AttributeType?: string | undefined }[]
            | undefined;
        }
      | undefined;
  }>;
  describeTimeToLive(input: { TableName: string }): Promise<{
    TimeToLiveDescription?:
      { TimeToLiveStatus?: string | undefined; AttributeName?: string | undefined } | undefined;
  }>;
  updateTimeToLive(input: {
    TableName: string;
    TimeToLiveSpecification: { AttributeName: string; Enabled: true };
  }): Promise<unknown>;
}

const DEFAULT_TABLE = "gateway_deliveries";
const TABLE_NAME = /^(?:[A-Za-z0-9_.-]{3,255}|arn:[A-Za-z0-9_:./-]{1,1020})$/;

/** Throws `ConfigurationError` unless `client` is a `DynamoDB` of the AWS SDK 3 with all of `methods`. */
export function checkDynamoClient(client: unknown, methods: readonly string[]): void {
  const instead = ", or in place of a DocumentClient of @aws-sdk/lib-dynamodb";
  checkAwsClient(client, "DynamoDB", methods, instead);
}

/** The name of the table, or the default. Throws `ConfigurationError` for a name that DynamoDB refuses. */
export function tableName(name: string = DEFAULT_TABLE): string {
  if (typeof name === "string" && TABLE_NAME.test(name)) return name;
  throw invalidOption(
    "table must be a name of 3 to 255 letters, digits and _.-, or the ARN of a table",
  );
}
