import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { HEADERS } from "../../src/delivery/headers.js";
import { ONLINE_DATA_EVENT_TYPES } from "../../src/records/online-data-event.js";
import { sampleAlarm } from "../samples/sample-alarm.js";
import { sampleOnlineDataEvent } from "../samples/sample-online-data-event.js";
import { givenSecrets } from "../diagnosis/secret-keys.js";
import { headerOf, linesOf } from "../sending/wire.js";
import { signedDelivery, TEST_SECRET } from "../signed-delivery.js";
import { entryOf, type DeliveryEntry } from "./delivery-entry.js";
import { DeliveryIntake, type Intake, type IntakeOptions } from "./delivery-intake.js";
import { DeliveryLog } from "./delivery-log.js";
import { bodyOf, listenedDelivery, type ListenedDelivery } from "./listened-delivery.js";

/** In a flood of forgeries the causes are not searched for: each search may take a second. */
const MAX_WAITING = 20;

/** Options of `Listener`. */
export interface ListenerOptions extends IntakeOptions {
  /** Called for each request as soon as it is answered. */
  readonly onIntake?: (intake: Intake) => void;
  /** Called for each request when its cause is known. */
  readonly onEntry?: (entry: DeliveryEntry, intake: Intake) => void;
}

/** What `Listener.send` sends. */
export type Sending =
  | { readonly sample: string }
  | {
      /** `seq` of the delivery to send again. */
      readonly again: number;
      /** Signs it anew, under a new id. */
      readonly sign: boolean;
      /** A body in place of its own. */
      readonly body?: string;
    };

/** Receives deliveries, remembers the last ones, and sends some again. */
export class Listener {
  readonly log = new DeliveryLog();
  readonly #options: ListenerOptions;
  readonly #intake: DeliveryIntake;
  /** After the answer, and one at a time: the search for a cause is slow. */
  #logged: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  #count = 0;

  constructor(options: ListenerOptions) {
    this.#options = options;
    this.#intake = new DeliveryIntake(options, (intake) => this.#add(intake));
  }

  /** Settles with the response. */
  answer(req: IncomingMessage, res: ServerResponse): unknown {
    return this.#intake.answer(req, res);
  }

  failNext(...failure: Parameters<DeliveryIntake["failNext"]>): void {
    this.#intake.failNext(...failure);
  }

  /** Resolves when every request so far is in the log. */
  async settled(): Promise<void> {
    await this.#logged;
  }

  /** Undefined if the delivery to send again is forgotten, had no body, or the sample is not known. */
  async send(sending: Sending): Promise<ListenedDelivery | undefined> {
    if ("sample" in sending) return this.#sendSample(sending.sample);
    const { again, sign, body: text } = sending;
    const given = this.log.all.find(({ seq }) => seq === again);
    const original = given && bodyOf(given);
    if (given === undefined || original === undefined) return undefined;
    const body = text === undefined ? original : Buffer.from(text);
    if (!sign) return this.#take(given.headers, body, text === undefined ? undefined : original);
    return this.#sign(body, headerOf(given.headers, HEADERS.type.name) ?? "new_alarm");
  }

  async #sendSample(name: string): Promise<ListenedDelivery | undefined> {
    const seed = randomBytes(4).readUInt32LE();
    const event = ONLINE_DATA_EVENT_TYPES.find((one) => one === name);
    if (event !== undefined) {
      const record = { event: sampleOnlineDataEvent(event, {}, { seed }) };
      return this.#sign(Buffer.from(JSON.stringify(record)), "delete_my_data_event");
    }
    const record = { alarm: sampleAlarm({ event_type: name }, { seed }) };
    return this.#sign(Buffer.from(JSON.stringify(record)), "new_alarm");
  }

  async #sign(body: Uint8Array, type: string): Promise<ListenedDelivery> {
    const given = givenSecrets(this.#options.secret ?? TEST_SECRET, type);
    const [secret = TEST_SECRET] = given.own;
    const { headers } = await signedDelivery({ type, body, secret });
    return this.#take(linesOf(headers), body, undefined);
  }

  async #take(...request: Parameters<DeliveryIntake["send"]>): Promise<ListenedDelivery> {
    return this.#add(await this.#intake.send(...request));
  }

  #add(intake: Intake): Promise<ListenedDelivery> {
    const { secret, maxBodyBytes, onIntake, onEntry } = this.#options;
    onIntake?.(intake);
    this.#waiting += 1;
    const isDiagnosed = secret !== undefined && this.#waiting <= MAX_WAITING;
    const logged = this.#logged.then(async () => {
      const { entry, differs } = await entryOf(intake, { secret, maxBodyBytes, isDiagnosed });
      this.#waiting -= 1;
      this.#count += 1;
      const place = { seq: this.#count, earlier: this.log.all };
      const delivery = listenedDelivery(intake, entry, differs, place);
      this.log.add(delivery);
      onEntry?.(entry, intake);
      return delivery;
    });
    // What fails for one delivery is thrown at its sender, and is not the end of the log.
    this.#logged = logged.catch(() => undefined);
    return logged;
  }
}
