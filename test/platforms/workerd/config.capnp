using Workerd = import "/workerd/workerd.capnp";

# The earliest date with everything that is used, and no Node built-ins.
const config :Workerd.Config = (
  services = [
    ( name = "receiver",
      worker = (
        modules = [(name = "worker", esModule = embed "worker.bundle.mjs")],
        compatibilityDate = "2026-08-03",
        globalOutbound = "ledger",
      ),
    ),
    (name = "ledger", external = (http = ())),
  ],
  sockets = [(name = "http", http = (), service = "receiver")],
);
