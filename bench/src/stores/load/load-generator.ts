import { WrongOutcomeError } from "../../rounds.js";
import { startHelper, type Helper } from "../child-process.js";
import type { Receiver } from "../receivers/receiver.js";
import type { RoundResult } from "./keep-alive-client.js";
import type { LoadOrder } from "./load-process.js";

/** The process that sends deliveries to the receivers. */
export type LoadGenerator = Helper<LoadOrder, unknown>;

/** Starts it under the given Node. */
export function startLoadGenerator(options: { readonly node: string }): LoadGenerator {
  return startHelper("./stores/load-process.js", options);
}

/** Opens the connections for the next rounds. */
export async function connect(
  load: LoadGenerator,
  { name, port }: Receiver,
  connections: number,
): Promise<void> {
  await load.ask({ order: "connect", contender: name, port, connections });
}

/** Sends so many new deliveries, which it signs before. @throws WrongOutcomeError unless each is answered 200. */
export async function sendNew(
  load: LoadGenerator,
  receiver: Receiver,
  count: number,
): Promise<RoundResult> {
  await sign(load, count);
  return sendSigned(load, receiver, count);
}

/** Signs the deliveries of the next round, each with a new id. */
export async function sign(load: LoadGenerator, count: number): Promise<void> {
  await load.ask({ order: "sign", count });
}

/** Sends the signed deliveries. @throws WrongOutcomeError unless each is answered 200. */
export async function sendSigned(
  load: LoadGenerator,
  receiver: Receiver,
  count: number,
): Promise<RoundResult> {
  const sent = (await load.ask({ order: "send", contender: receiver.name })) as RoundResult;
  if (sent.good !== count)
    throw wrongOutcome(receiver, `${sent.good} of ${count} were answered 200`);
  return sent;
}

/** A figure of this receiver would mean nothing. */
export function wrongOutcome({ row, name }: Receiver, what: string): WrongOutcomeError {
  return new WrongOutcomeError(`${row}, ${name}: ${what}`);
}
