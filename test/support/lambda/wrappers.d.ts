/** In test/platforms/lambda/node_modules, where only the bundler looks. */
declare module "serverless-http" {
  export default function serverless(app: unknown): (event: object, context: object) => unknown;
}

declare module "@fastify/aws-lambda" {
  export default function awsLambda(app: unknown): (event: object, context: object) => unknown;
}
