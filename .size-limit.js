// What an edge function ships: the receiver with its Fetch adapter, zod and lru-cache inside.
export default [
  {
    name: "createWebhookReceiver + fetchHandler, bundled for the edge",
    path: ["dist/index.js", "dist/fetch.js"],
    import: {
      "dist/index.js": "{ createWebhookReceiver }",
      "dist/fetch.js": "{ fetchHandler }",
    },
    limit: "29 kB",
    /** @param {import("esbuild").BuildOptions} config */
    modifyEsbuildConfig: (config) => ({
      ...config,
      // Each chunk that a second entry shares is named as dropped, which is what is wanted.
      logLevel: "error",
      conditions: ["workerd"],
      // Without the `paths` of tsconfig.json, which point `#crypto` at a source file.
      tsconfigRaw: "{}",
    }),
  },
];
