import { installedVersion } from "./install.js";
import type { Platform } from "./platform.js";
import { startServer, type ServerOptions } from "./start-server.js";

type ServerRow = Omit<Platform, "version" | "app" | "start"> &
  Omit<ServerOptions, "args"> &
  Partial<Pick<Platform, "app"> & Pick<ServerOptions, "args">> & {
    /** The package whose installed version the table shows. */
    readonly versionOf: string;
  };

/** The row of a platform that is a server. By default it runs `app.mjs`, or the `app` that it names. */
export function serverRow({ versionOf, app = "app.mjs", ...row }: ServerRow): Platform {
  const { args = () => [app] } = row;
  return {
    ...row,
    app,
    version: () => installedVersion(row.folder, versionOf),
    start: (ledgerUrl) => startServer({ ...row, args }, ledgerUrl),
  };
}
