import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Files that take two minutes and more beside others. Begun last, as the short ones are, they would run alone at the end. */
const LONGEST = [
  "alerts/rules",
  "faults/faults",
  "flawed/(?:languages/languages|right-receivers)",
  "inbox/(?:bullmq|nats|pg-boss|rabbitmq)-contract",
  "kit/conformance-flaws",
  "model/models",
  "package/(?:examples-queues|init|package)",
  "site/(?:listen-page|site)",
  "stores/\\w+/contract",
  "stores/sqlite/(?:better-sqlite3|drivers)",
];
const BEGUN_FIRST = new RegExp(`/test/(?:${LONGEST.join("|")})\\.slow\\.test\\.ts$`);

/**
 * Runs the files of all projects mixed, each project spread evenly over the whole run. By itself Vitest runs one
 * project after the other, so that at one time all workers wait for servers, and at another all want the processor.
 */
export class MixedOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const count = new Map<string, number>();
    const indexed = sorted.map((file) => {
      const index = count.get(file.project.name) ?? 0;
      count.set(file.project.name, index + 1);
      return { file, index };
    });
    return indexed
      .map(({ file, index }) => ({ file, place: place(file, index, count) }))
      .sort((one, other) => one.place - other.place)
      .map(({ file }) => file);
  }
}

/** Files with a lower place begin first. */
function place(
  { moduleId, project }: TestSpecification,
  index: number,
  count: ReadonlyMap<string, number>,
): number {
  if (BEGUN_FIRST.test(moduleId)) return -1;
  // Side by side, since a process that is shared takes the next file only if it is of the same project.
  if (!project.config.isolate) return 0;
  return (index + 0.5) / (count.get(project.name) ?? 1);
}
