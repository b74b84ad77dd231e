import { createAdaptorServer } from "hono-node-server-2.0";
import { describeHonoRelease } from "../support/hono-release.js";

describeHonoRelease("2.0", createAdaptorServer);
