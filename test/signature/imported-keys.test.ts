import { backend } from "#crypto";
import { expect, test, vi } from "vitest";
import { backend as web } from "../../src/signature/crypto/web.js";
import { alarm, delivery } from "../support/deliveries.js";
import { recordingReceiver } from "../support/recording-receiver.js";

/** Node's backend imports no key with WebCrypto. */
const isWeb = Object.is(backend, web);

test.runIf(isWeb)(
  "on WebCrypto, a secret whose key fails to import once is imported again for the next delivery",
  async () => {
    const { receive, handled, reports } = recordingReceiver();
    const request = await delivery();
    const failure = new Error("the key service is busy");
    vi.spyOn(crypto.subtle, "importKey").mockRejectedValueOnce(failure);

    expect(await receive(request)).toMatchObject({ status: 500, outcome: "internal_error" });
    expect(reports[0]?.error).toBe(failure);
    expect(handled).toEqual([]);

    expect(await receive(request)).toMatchObject({ status: 200, outcome: "handled" });
    expect(handled).toEqual([alarm()]);
  },
);

test.runIf(isWeb)(
  "on WebCrypto, the key of a secret is imported once, also for deliveries at the same time",
  async () => {
    const { receive } = recordingReceiver();
    const requests = await Promise.all(["a", "b", "c"].map((id) => delivery({ id })));
    const importKey = vi.spyOn(crypto.subtle, "importKey");

    const [first, ...others] = requests;
    if (first === undefined) throw new Error("no request");
    await Promise.all(others.map((request) => receive(request)));
    expect((await receive(first)).outcome).toBe("handled");
    expect(importKey).toHaveBeenCalledTimes(1);
  },
);
