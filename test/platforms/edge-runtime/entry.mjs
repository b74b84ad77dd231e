// What a host adds to an edge function when it bundles it.
import handle from "./api/webhook.mjs";

addEventListener("fetch", (event) => {
  event.respondWith(handle(event.request, event));
});
