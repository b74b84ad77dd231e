/** The path at which every server receives deliveries. */
export const PATH = "/webhooks/gateway";

/** Called with each record that a server has verified. */
export type Handle = (record: unknown) => Promise<void>;

/** The members that the servers of all frameworks have in common. */
export interface HttpServer {
  listen(port: number, host: string, listening: () => void): unknown;
  address(): { readonly port: number } | string | null;
  on(event: "request", listener: () => void): unknown;
}
