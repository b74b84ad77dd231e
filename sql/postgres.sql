-- Which webhook deliveries were handled, or are being handled: identity-gateway-webhooks/postgres.
CREATE TABLE IF NOT EXISTS "gateway_deliveries" (
  -- From then on the row counts as absent; purge() removes it.
  expires_at timestamptz NOT NULL,
  -- How long the lease of a delivery that is being handled holds unless renewed; NULL once handled.
  lease_until timestamptz,
  -- X-Webhook-Id. "C": compared by its bytes, whatever the collations of the operating system become.
  key text COLLATE "C" PRIMARY KEY,
  -- Who holds the lease; NULL once handled.
  owner text COLLATE "C",
  -- Whether an earlier lease ended without a verdict.
  takeover boolean NOT NULL DEFAULT false,
  CHECK ((owner IS NULL) = (lease_until IS NULL))
);
