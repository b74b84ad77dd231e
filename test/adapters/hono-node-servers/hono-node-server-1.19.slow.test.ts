import { createAdaptorServer } from "hono-node-server-1.19";
import { describeHonoRelease } from "../../support/adapters/hono-release.js";

describeHonoRelease("1.19", createAdaptorServer);
