// Takes one delivery, twice, through the receiver that the first argument names, and prints what came of it as JSON:
// { outcomes, runs }, or { refused, message } for a peer that the package refuses.
import { setTimeout as wait } from "node:timers/promises";
import { sampleAlarm, signedDelivery, TEST_SECRET } from "identity-gateway-webhooks/testing";
import { receivers } from "./receivers.mjs";

const runs = [];
const handlers = { new_alarm: (_alarm, { id }) => void runs.push(id) };

async function outcomeOf(target, request) {
  if (typeof target !== "string") return (await target.receive(request)).outcome;
  const answer = await fetch(target, { method: "POST", ...request });
  return (await answer.json()).outcome;
}

async function prove() {
  try {
    const options = { secret: TEST_SECRET, handlers, logger: false };
    const { target, proven = () => true } = await receivers[process.argv[2]](options);
    const request = await signedDelivery({ secret: TEST_SECRET, alarm: sampleAlarm() });
    const outcomes = [await outcomeOf(target, request), await outcomeOf(target, request)];
    for (let waits = 0; runs.length === 0 && waits < 200; waits++) await wait(100);
    return { outcomes, runs: proven() ? runs.length : 0 };
  } catch (error) {
    return { refused: error.code, message: String(error.stack) };
  }
}

console.log(JSON.stringify(await prove()));
// Servers and connections are still open.
process.exit();
