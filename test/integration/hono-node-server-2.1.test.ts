import { createAdaptorServer } from "@hono/node-server";
import { describeHonoRelease } from "../support/hono-release.js";

describeHonoRelease("2.1", createAdaptorServer);
