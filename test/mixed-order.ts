import { BaseSequencer, type TestSpecification } from "vitest/node";

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

/** From 0 to 1. Files that share processes stay side by side: a process takes the next file only if it is of its project. */
function place({ project }: TestSpecification, index: number, count: Map<string, number>): number {
  if (!project.config.isolate) return 0;
  return (index + 0.5) / (count.get(project.name) ?? 1);
}
