-- identity-gateway-webhooks/postgres: the deliveries that were handled or are being handled.
CREATE TABLE IF NOT EXISTS "gateway_deliveries" (
  -- The row counts as absent from this time on, and purge() removes it.
  expires_at timestamptz NOT NULL,
  -- The end of the lease of a delivery that is being handled; NULL once it is handled.
  lease_until timestamptz,
  -- X-Webhook-Id. "C" compares bytes, so an update of the operating system's collations breaks no index.
  key text COLLATE "C" PRIMARY KEY,
  -- The holder of the lease; NULL once the delivery is handled.
  owner text COLLATE "C",
  -- Whether an earlier lease ended without a result.
  takeover boolean NOT NULL DEFAULT false,
  CONSTRAINT identity_gateway_webhooks_layout_1 CHECK ((owner IS NULL) = (lease_until IS NULL))
);
