import type { Random } from "../random.js";

/** A UUID of version 4 (GATEWAY.md, "Events": X-Webhook-Id is one), the same for the same seed. */
export function drawDeliveryId(random: Random): string {
  const hex = Array.from({ length: 4 }, () =>
    random.below(4_294_967_296).toString(16).padStart(8, "0"),
  ).join("");
  const variant = (8 + (Number.parseInt(hex.charAt(16), 16) & 3)).toString(16);
  const groups = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `4${hex.slice(13, 16)}`,
    `${variant}${hex.slice(17, 20)}`,
    hex.slice(20),
  ];
  return groups.join("-");
}
