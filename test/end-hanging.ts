import { afterAll } from "vitest";
import { endHanging } from "./support/deferred.js";

// Vitest's setup file: runs for each test file. Files share a process.
afterAll(endHanging);
