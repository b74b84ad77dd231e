-- identity-gateway-webhooks/mysql: the deliveries that were handled or are being handled.
CREATE TABLE IF NOT EXISTS `gateway_deliveries` (
  -- X-Webhook-Id. Bytes: the default collations take ids for equal that differ in case.
  `key` varbinary(255) NOT NULL PRIMARY KEY,
  -- The holder of the lease; NULL once the delivery is handled.
  owner varbinary(255),
  -- The end of the lease of a delivery that is being handled, in Unix milliseconds; NULL once it is handled.
  lease_until bigint,
  -- The row counts as absent from this time on, in Unix milliseconds, and purge() removes it.
  expires_at bigint NOT NULL,
  -- Whether an earlier lease ended without a result.
  takeover boolean NOT NULL DEFAULT false
) ENGINE = InnoDB COMMENT = 'identity_gateway_webhooks_layout_1';
