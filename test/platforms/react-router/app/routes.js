import { route } from "@react-router/dev/routes";

export default [route("webhooks/gateway", "routes/webhook.js")];
