#!/usr/bin/env node
import { createProcessIo, flushed } from "./terminal/process-io.js";
import { runCommandLine } from "./run-command-line.js";

const code = await runCommandLine(process.argv.slice(2), createProcessIo());
await flushed();
process.exit(code);
