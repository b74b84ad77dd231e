import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { sampleAlarm, signedDelivery } from "../../kit/index.js";
import { TEST_SECRET } from "../support/deliveries.js";
import {
  bundleMember,
  createProxy,
  startMember,
  type Member,
} from "../support/adapters/rolling-fleet.js";

const RESTARTS = 14;
const SENDERS = 8;
/** The gateway waits 10 seconds. */
const RETRY_MS = 50;

it("fourteen rolling restarts behind kept connections cost no delivery more than two attempts", async () => {
  const started: Member[] = [];
  onTestFinished(() => {
    for (const member of started) member.kill();
  });
  const folder = mkdtempSync(join(tmpdir(), "rolling-"));
  onTestFinished(() => {
    rmSync(folder, { recursive: true });
  });
  const bundle = await bundleMember(folder);
  const start = async (): Promise<Member> => {
    const member = await startMember(bundle);
    started.push(member);
    return member;
  };
  const proxy = createProxy([await start(), await start()]);
  const attempts: number[] = [];
  let isOver = false;

  const sendOn = async (): Promise<void> => {
    while (!isOver) {
      const delivery = await signedDelivery({ alarm: sampleAlarm(), secret: TEST_SECRET });
      let count = 1;
      while (!(await proxy.deliver(delivery))) {
        count += 1;
        await sleep(RETRY_MS);
      }
      attempts.push(count);
    }
  };
  const senders = Array.from({ length: SENDERS }, sendOn);

  const exits: (number | null)[] = [];
  for (let restart = 0; restart < RESTARTS; restart += 1) {
    const next = await start();
    const leaving = started[restart];
    proxy.members.push(next);
    exits.push((await leaving?.stop()) ?? null);
  }
  isOver = true;
  await Promise.all(senders);

  expect(exits).toEqual(Array.from({ length: RESTARTS }, () => 0));
  expect(attempts.length).toBeGreaterThan(RESTARTS * SENDERS);
  expect(attempts.filter((count) => count > 2)).toEqual([]);
});
