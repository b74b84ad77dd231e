// The packages of this folder, for the tests elsewhere: Node finds them only from here.
export { default as fastify4 } from "fastify4";
export { default as fastify5 } from "fastify";
export type { FastifyInstance } from "fastify";
