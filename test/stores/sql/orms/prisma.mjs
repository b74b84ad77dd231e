import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { PrismaLibSql } from "@prisma/adapter-libsql";
import { PrismaMariaDb } from "@prisma/adapter-mariadb";
import { PrismaPg } from "@prisma/adapter-pg";

const PROVIDERS = { postgres: "postgresql", mysql: "mysql", sqlite: "sqlite" };
const ADAPTERS = {
  postgres: (connection, max) => new PrismaPg({ ...connection, max }),
  mysql: (connection, connectionLimit) => new PrismaMariaDb({ ...connection, connectionLimit }),
  sqlite: ({ filename }) => new PrismaLibSql({ url: `file:${filename}` }),
};
const pathOf = (file) => fileURLToPath(new URL(file, import.meta.url));

const require = createRequire(import.meta.url);

/** The client for a dialect, which Prisma generates from a schema. That of PostgreSQL is where `@prisma/client` has it. */
function clientFor(dialect) {
  const folder = pathOf(`node_modules/.generated/${dialect}`);
  const isDefault = dialect === "postgres";
  if (!existsSync(`${folder}/generated`)) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(
      `${folder}/schema.prisma`,
      `generator client {
        provider = "prisma-client-js"
        ${isDefault ? "" : 'output = "./client"'}
      }
      datasource db {
        provider = "${PROVIDERS[dialect]}"
      }
      model effects {
        name String @id
      }`,
    );
    execFileSync(
      process.execPath,
      [pathOf("node_modules/prisma/build/index.js"), "generate", "--schema", "schema.prisma"],
      // The engine that it would fetch only migrates tables.
      {
        cwd: folder,
        stdio: "pipe",
        env: { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: "/bin/true" },
      },
    );
    writeFileSync(`${folder}/generated`, "");
  }
  return require(isDefault ? "@prisma/client" : `${folder}/client/index.js`).PrismaClient;
}

export async function open({ dialect, connection, connections }) {
  const PrismaClient = clientFor(dialect);
  const prisma = new PrismaClient({ adapter: ADAPTERS[dialect](connection, connections) });
  return {
    transaction: (run) => prisma.$transaction(run, { maxWait: 10_000, timeout: 60_000 }),
    query: (tx, sql, values) => tx.$queryRawUnsafe(sql, ...values),
    write: (tx, name) => tx.effects.createMany({ data: [{ name }] }),
    run: (tx, sql) => tx.$executeRawUnsafe(sql),
    close: () => prisma.$disconnect(),
  };
}
