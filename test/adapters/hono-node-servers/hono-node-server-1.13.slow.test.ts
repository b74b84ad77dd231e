import { createAdaptorServer } from "hono-node-server-1.13";
import { describeHonoRelease } from "../../support/adapters/hono-release.js";

describeHonoRelease("1.13", createAdaptorServer);
