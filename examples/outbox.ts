// GATEWAY_WEBHOOK_SECRET=… DATABASE_URL=postgres://… MAIL_URL=https://… npx tsx examples/outbox.ts
// A mail is a row of the transaction that keeps its alarm, and a loop beside the receiver sends it. So no crash loses a
// mail, and one is sent twice only if the process dies between the mail and its mark.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { createWebhookReceiver } from "identity-gateway-webhooks";
import { nodeHandler } from "identity-gateway-webhooks/node";
import { postgresTransactions } from "identity-gateway-webhooks/postgres";
import pg from "pg";

const pool = new pg.Pool({ connectionString: process.env["DATABASE_URL"], max: 20 });
// Without a listener, a broken idle connection ends the process.
pool.on("error", ({ message }) => {
  console.error(`idle connection lost: ${message}`);
});

const store = postgresTransactions({ pool });
await store.migrate();
await pool.query(
  `CREATE TABLE IF NOT EXISTS alarms (id bigint PRIMARY KEY, account_id bigint NOT NULL);
   CREATE TABLE IF NOT EXISTS mails (
     id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
     account_id bigint NOT NULL,
     text text NOT NULL,
     attempts int NOT NULL DEFAULT 0,
     due_at timestamptz NOT NULL DEFAULT now(),
     sent_at timestamptz
   )`,
);

const receiver = createWebhookReceiver({
  secret: process.env["GATEWAY_WEBHOOK_SECRET"],
  store,
  handlers: {
    new_alarm: async ({ id, account_id, event_type }, { tx }) => {
      const alarm = "INSERT INTO alarms VALUES ($1, $2) ON CONFLICT DO NOTHING";
      const { rowCount } = await tx.query(alarm, [id, account_id]);
      // The alarm is known: another webhook has brought it, and its mail is written.
      if (rowCount === 0) return;
      const mail = "INSERT INTO mails (account_id, text) VALUES ($1, $2)";
      await tx.query(mail, [account_id, `A new alarm: ${event_type}`]);
    },
  },
});

interface Mail {
  readonly attempts: number;
  readonly id: string;
  readonly account_id: string;
  readonly text: string;
}

/** Your mail service. The key lets it drop a mail that it has already sent. */
async function sendMail({ id, account_id, text }: Mail): Promise<void> {
  const response = await fetch(process.env["MAIL_URL"] ?? "", {
    method: "POST",
    headers: { "content-type": "application/json", "idempotency-key": `mail-${id}` },
    body: JSON.stringify({ account_id, text }),
    signal: AbortSignal.timeout(10_000),
  });
  if (!response.ok) throw new Error(`the mail service answered ${response.status}`);
}

/** Four days of failures. */
const MAX_ATTEMPTS = 100;
// SKIP LOCKED: several processes send side by side, and none of them waits for another one.
const NEXT = `SELECT id, account_id, text, attempts FROM mails
  WHERE sent_at IS NULL AND attempts < ${MAX_ATTEMPTS} AND due_at <= now()
  ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED`;
const SENT = "UPDATE mails SET sent_at = now() WHERE id = $1";
const FAILED = `UPDATE mails SET attempts = attempts + 1,
  due_at = now() + least(interval '1 hour', interval '10 seconds' * power(2, least(attempts, 9))) WHERE id = $1`;

/** Sends the next mail that is due. Resolves to whether there was one. */
async function sendNext(): Promise<boolean> {
  const client = await pool.connect();
  let isBroken = true;
  try {
    await client.query("BEGIN");
    const [mail] = (await client.query<Mail>(NEXT)).rows;
    if (mail !== undefined) {
      const isSent = await sendMail(mail).then(
        () => true,
        (error: unknown) => {
          const isLast = mail.attempts + 1 === MAX_ATTEMPTS;
          // Alert on this line: the person was not warned, and nothing will try again.
          const what = isLast ? "is given up" : "failed and is sent again";
          console.error(`mail ${mail.id} ${what}: ${String(error)}`);
          return false;
        },
      );
      await client.query(isSent ? SENT : FAILED, [mail.id]);
    }
    await client.query("COMMIT");
    isBroken = false;
    return mail !== undefined;
  } finally {
    // A connection that broke has rolled back: the mail is sent again.
    client.release(isBroken);
  }
}

let isStopping = false;
async function sendMails(): Promise<void> {
  while (!isStopping) {
    const isMore = await sendNext().catch((error: unknown) => console.error(String(error)));
    if (isMore !== true) await pause(200);
  }
}
const sending = sendMails();

const server = createServer(nodeHandler(receiver));
server.listen(Number(process.env["PORT"] ?? 3000), () => {
  const { port } = server.address() as AddressInfo;
  console.log(`listening on http://localhost:${port}/webhooks/gateway`);
});

process.once("SIGTERM", () => {
  isStopping = true;
  server.close();
  void receiver
    .drain()
    .then(() => sending)
    .then(() => pool.end());
});
