using Workerd = import "/workerd/workerd.capnp";

# The first date on which `process.env` has the bindings and Node's modules are there.
const config :Workerd.Config = (
  services = [
    ( name = "receiver",
      worker = (
        modules = [(name = "worker", esModule = embed "build/app.mjs")],
        bindings = [
          (name = "GATEWAY_WEBHOOK_SECRET", fromEnvironment = "GATEWAY_WEBHOOK_SECRET"),
          (name = "LEDGER_URL", fromEnvironment = "LEDGER_URL"),
        ],
        compatibilityDate = "2026-08-04",
        globalOutbound = "loopback",
      ),
    ),
    (name = "loopback", network = (allow = ["private"])),
  ],
  sockets = [(name = "http", http = (), service = "receiver")],
);
