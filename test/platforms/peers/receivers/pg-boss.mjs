import { PgBoss } from "pg-boss";
import { pgBossQueue } from "identity-gateway-webhooks/pg-boss";

export async function openQueue({ url }, schema) {
  const boss = new PgBoss({ connectionString: url, schema });
  boss.on("error", () => undefined);
  const driver = pgBossQueue({ boss, pollIntervalMs: 100 });
  await boss.start();
  return driver;
}
