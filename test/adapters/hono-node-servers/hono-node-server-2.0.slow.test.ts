import { createAdaptorServer } from "hono-node-server-2.0";
import { describeHonoRelease } from "../../support/adapters/hono-release.js";

describeHonoRelease("2.0", createAdaptorServer);
