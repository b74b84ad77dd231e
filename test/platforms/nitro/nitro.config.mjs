import { defineNitroConfig } from "nitropack/config";

export default defineNitroConfig({
  preset: "node-server",
  compatibilityDate: "2026-01-01",
  minify: false,
  sourceMap: false,
});
