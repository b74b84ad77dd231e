// The packages of `test/platforms/nest-*`, as far as the tests need them. vitest.config.ts resolves them.

declare module "@nestjs/platform-fastify" {
  import type { AbstractHttpAdapter } from "@nestjs/core";
  export const FastifyAdapter: new (options?: object) => AbstractHttpAdapter;
}

declare module "@nestjs/testing" {
  import type { INestApplication, INestApplicationContext, ModuleMetadata } from "@nestjs/common";
  import type { AbstractHttpAdapter } from "@nestjs/core";
  interface TestingModule extends INestApplicationContext {
    createNestApplication(adapter: AbstractHttpAdapter, options?: object): INestApplication;
  }
  export const Test: {
    createTestingModule(metadata: ModuleMetadata): { compile(): Promise<TestingModule> };
  };
}
