// What an edge function ships: the receiver with its Fetch adapter, and lru-cache inside.
const bundle = {
  path: ["dist/index.js", "dist/fetch.js"],
  import: {
    "dist/index.js": "{ createWebhookReceiver }",
    "dist/fetch.js": "{ fetchHandler }",
  },
};

/** @param {import("esbuild").BuildOptions} config */
const edge = (config) => ({
  ...config,
  // The warning that names each chunk shared with another entry as dropped is of no use here.
  logLevel: "error",
  conditions: ["workerd"],
  // Without the `paths` of tsconfig.json, which point `#crypto` at a source file.
  tsconfigRaw: "{}",
});

// What a Lambda function ships beside its own code and its store.
const lambda = {
  path: ["dist/index.js", "dist/aws-lambda.js"],
  import: {
    "dist/index.js": "{ createWebhookReceiver, memoryStore }",
    "dist/aws-lambda.js": "{ lambdaHandler }",
  },
};

/** @param {import("esbuild").BuildOptions} config */
const node = (config) => ({
  ...config,
  logLevel: "error",
  platform: "node",
  tsconfigRaw: "{}",
});

export default [
  {
    ...bundle,
    name: "createWebhookReceiver + fetchHandler, bundled for the edge",
    limit: "39.5 kB",
    modifyEsbuildConfig: edge,
  },
  {
    ...lambda,
    name: "lambdaHandler with the memory store, in one file",
    limit: "39.7 kB",
    modifyEsbuildConfig: node,
  },
];
