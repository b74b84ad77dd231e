import { defineConfig } from "eslint/config";
import tseslint from "typescript-eslint";

const webOnly = {
  "no-restricted-globals": [
    "error",
    { name: "Buffer", message: "The core runs where Web standards run: use Uint8Array." },
    { name: "process", message: "The core runs where Web standards run." },
  ],
};

const notOfProduction = {
  group: ["**/kit/**", "**/cli/**"],
  message: "What runs in production imports neither the kit nor the command line.",
};

const inlined = {
  group: ["jsonc-parser"],
  message: "It is inlined at the build: only the kit and the command line may import it.",
};

export default defineConfig(
  {
    ignores: [
      "**/dist/",
      "coverage/",
      "reports/",
      ".stryker-tmp/",
      // Needs the types of workerd. test/stores/cloudflare/project.test.ts compiles it.
      "test/platforms/cloudflare/d1-types.ts",
      "test/platforms/lambda/handler-types.ts",
      // Apps of platforms, in JavaScript, and what is made of them.
      "test/platforms/**/*.{js,jsx,mjs,cjs}",
      "examples/*.mjs",
      "test/stores/sql/orms/*.mjs",
      "test/support/inbox/*.mjs",
      "test/platforms/**/*.cts",
      "test/platforms/typescript-*/",
      "test/platforms/*/{.next,.nitro,.nuxt,.output,.react-router,.svelte-kit,build}/",
    ],
  },
  tseslint.configs.strictTypeChecked,
  tseslint.configs.stylisticTypeChecked,
  {
    languageOptions: {
      parserOptions: {
        projectService: {
          allowDefaultProject: [
            ".size-limit.js",
            "*.config.js",
            "fixtures/*.mjs",
            "fixtures/generate/*.mjs",
          ],
        },
      },
    },
    rules: {
      "@typescript-eslint/consistent-type-imports": "error",
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      // A callback may be one call: () => clearTimeout(timer).
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      // Types of options and schemas are inferred in places where an interface would say less.
      "@typescript-eslint/consistent-type-definitions": "off",
      // What a partner's store or handler rejects with is passed on as it is.
      "@typescript-eslint/prefer-promise-reject-errors": ["error", { allowThrowingUnknown: true }],
      "no-console": "error",
      // They take a tenth of the time and have found nothing: there are no enums here, and few classes.
      "@typescript-eslint/no-unsafe-class-instance-assignment": "off",
      "@typescript-eslint/no-unsafe-enum-assignment": "off",
    },
  },
  {
    files: ["{src,adapters,kit,cli}/**/*.ts"],
    rules: {
      "no-restricted-syntax": [
        "error",
        {
          selector:
            "ObjectExpression > SpreadElement > ObjectExpression, ArrayExpression > SpreadElement > ArrayExpression",
          message: "Write its parts as plain properties or elements.",
        },
        {
          selector:
            "PropertyDefinition[accessibility='private'], MethodDefinition[accessibility='private'][kind!='constructor'], TSParameterProperty[accessibility='private']",
          message: "Write #name, which is private at run time, too.",
        },
      ],
    },
  },
  {
    files: ["src/**/*.ts"],
    rules: {
      ...webOnly,
      "no-restricted-imports": [
        "error",
        {
          patterns: [
            { group: ["**/adapters/**"], message: "Arrows point inward: adapters import src." },
            notOfProduction,
            inlined,
            { group: ["express", "hono", "hono/*"], message: "The core knows no framework." },
            { group: ["node:*"], message: "Only the Node backend of src/crypto knows Node." },
          ],
        },
      ],
    },
  },
  {
    files: ["src/signature/crypto/node.ts", "src/signature/crypto/one-shot-hmac.ts"],
    rules: { "no-restricted-imports": "off", "no-restricted-globals": "off" },
  },
  {
    files: ["adapters/**/*.ts"],
    rules: { "no-restricted-imports": ["error", { patterns: [notOfProduction, inlined] }] },
  },
  {
    files: [
      "adapters/{fetch,hono}.ts",
      "adapters/http/fetch-*.ts",
      "adapters/http/{body-limits,upload-buffer}.ts",
    ],
    rules: webOnly,
  },
  {
    // Type tests name types and call nothing.
    files: ["test/types/**", "test/platforms/*/types.ts"],
    rules: {
      "@typescript-eslint/no-unnecessary-type-parameters": "off",
      "@typescript-eslint/no-unused-vars": "off",
      "@typescript-eslint/no-unsafe-call": "off",
    },
  },
  {
    // Nest knows a module by its class, and its options are classes.
    files: ["test/adapters/nestjs/**", "test/support/nestjs/**", "examples/nestjs.ts"],
    rules: {
      "@typescript-eslint/no-extraneous-class": "off",
    },
  },
  {
    files: ["kit/**/*.ts"],
    rules: {
      "no-restricted-imports": [
        "error",
        {
          patterns: [
            { group: ["**/cli/**"], message: "The command line imports the kit." },
            { group: ["vitest", "express", "hono"], message: "The kit knows no test runner." },
          ],
        },
      ],
    },
  },
  {
    // The page shows texts of strangers: they enter it as text.
    files: ["cli/page/browser/**"],
    rules: {
      "@typescript-eslint/no-non-null-assertion": "off",
      "no-restricted-properties": [
        "error",
        ...["innerHTML", "outerHTML", "insertAdjacentHTML", "write", "srcdoc", "setHTMLUnsafe"].map(
          (property) => ({ property, message: "Use text: textContent, append, element()." }),
        ),
      ],
    },
  },
  { files: ["examples/**", "fixtures/**"], rules: { "no-console": "off" } },
  {
    // What it imports is installed by `npm run bench` alone, which also compiles it.
    files: ["bench/**"],
    extends: [tseslint.configs.disableTypeChecked],
    languageOptions: { parserOptions: { projectService: false } },
    rules: { "no-console": "off" },
  },
);
