import { createAdaptorServer } from "@hono/node-server";
import { describeHonoRelease } from "../../support/adapters/hono-release.js";

describeHonoRelease("2.1", createAdaptorServer);
