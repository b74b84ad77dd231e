-- identity-gateway-webhooks/cloudflare: the deliveries that were handled or are being handled.
-- Times are Unix milliseconds. A row without an owner is handled. A row counts as absent from its
-- forget_at on, and purge() removes it.
CREATE TABLE IF NOT EXISTS "gateway_deliveries" (
  key TEXT NOT NULL CONSTRAINT identity_gateway_webhooks_layout_1 PRIMARY KEY,
  owner TEXT,
  lease_ends_at INTEGER,
  takeover INTEGER NOT NULL DEFAULT 0,
  forget_at INTEGER NOT NULL
) WITHOUT ROWID;
