import { createWebhookReceiver, type DeliveryContext } from "identity-gateway-webhooks";
import { TEST_SECRET } from "identity-gateway-webhooks/testing";
import { serve, type Endpoint } from "./endpoint.js";
import type { Ledger } from "./ledger.js";

/** A partner's server, whose handler counts its runs. */
export interface DemoServer extends Endpoint {
  /** Extra work of the handler for a delivery id, after it has counted the run. */
  readonly work: Map<string, () => unknown>;
}

/** Starts the server on a free port of 127.0.0.1. */
export async function startServer({ count }: Ledger): Promise<DemoServer> {
  const work: DemoServer["work"] = new Map();
  const handle = async (record: unknown, context: DeliveryContext): Promise<void> => {
    count(record, context);
    await work.get(context.id)?.();
  };

  const receiver = createWebhookReceiver({
    secret: TEST_SECRET,
    handlers: { new_alarm: handle, delete_my_data_event: handle },
    // The table shows everything.
    logger: false,
  });
  return { ...(await serve(receiver)), work };
}
