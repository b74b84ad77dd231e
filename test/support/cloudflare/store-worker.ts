// A Worker with `d1Store`. POST /<table> [[method, ...arguments], …] runs the methods at the same time, and
// answers with a list of { value } or { error }.
import { d1Store, type D1Binding, type D1Store } from "../../../src/inbox/cloudflare/index.js";

interface Env {
  readonly DB: D1Binding;
}

type Call = readonly [method: keyof D1Store, ...args: unknown[]];

export default {
  async fetch(request: Request, { DB }: Env): Promise<Response> {
    const store = d1Store({ database: DB, table: new URL(request.url).pathname.slice(1) });
    const run = async ([method, ...args]: Call): Promise<object> => {
      try {
        return { value: await (store[method] as (...args: unknown[]) => unknown)(...args) };
      } catch (error) {
        return { error: String(error) };
      }
    };
    return Response.json(await Promise.all(((await request.json()) as Call[]).map(run)));
  },
};
