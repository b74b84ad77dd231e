/** The same client until it is killed: a killed process calls nothing more, and sees no answer. */
export function killable<Client extends object>(
  client: Client,
): { readonly client: Client; readonly kill: () => void } {
  let isKilled = false;
  const alive = new Proxy(client, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name, target);
      if (typeof method !== "function") return method;
      return async (...given: unknown[]): Promise<unknown> => {
        const call: unknown = isKilled ? undefined : Reflect.apply(method, target, given);
        const result: unknown = await call;
        if (isKilled) throw new Error("killed");
        return result;
      };
    },
  });
  return { client: alive, kill: () => void (isKilled = true) };
}
