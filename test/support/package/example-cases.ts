import { expect, it } from "vitest";
import { eventually } from "../listening-receiver.js";
import {
  DUPLICATE,
  HANDLED,
  freshAlarm,
  freshEvent,
  post,
  type ExampleProcess,
} from "./example-process.js";

/** What each example that handles its deliveries from a queue must do. */
export function queueExampleCases(file: string, example: () => ExampleProcess): void {
  it(`examples/${file} acknowledges an alarm, and handles it once from the queue`, async () => {
    const { url, printed } = example();
    const sent = await freshAlarm();
    expect(await post(url, sent)).toEqual(HANDLED);
    expect(await post(url, sent)).toEqual(DUPLICATE);
    const line = `${sent.id}: email_hacked, severity High`;
    await eventually(() => printed).toContain(line);

    const event = await freshEvent("DATA_REAPPEARED");
    expect(await post(url, event)).toEqual(HANDLED);
    await eventually(() => printed).toContain(`${event.id}: DATA_REAPPEARED`);
    expect(printed.filter((one) => one === line)).toHaveLength(1);
  });

  it(`examples/${file} refuses a delivery with a wrong signature, and finds nothing at another path`, async () => {
    const { url } = example();
    const sent = await freshAlarm();
    const tampered = { ...sent, body: sent.body.replace("42", "43") };
    const refusal = { status: 409, error: { code: "SIGNATURE_MISMATCH" } };
    expect(await post(url, tampered)).toMatchObject(refusal);
    expect((await fetch(new URL("/", url), sent)).status).toBe(404);
  });
}
