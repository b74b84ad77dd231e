import { QueueError } from "../queue-error.js";
import type { NatsJetStream, NatsManager } from "./client.js";

/** The name of the one consumer that all workers share. */
export const CONSUMER = "workers";

interface OwnSettings {
  readonly retention: "workqueue" | "limits";
  readonly discard?: "new";
  readonly max_msgs_per_subject?: 1;
}

/** The two streams of a queue. They are made when they are first needed. */
export class NatsStreams {
  readonly jetstream: NatsJetStream;
  /** Stream of the jobs, and the first part of their subjects. */
  readonly name: string;
  /** Stream of the dead jobs, and the first part of their subjects. */
  readonly deadName: string;
  readonly #replicas: number;
  #opening: Promise<NatsManager> | undefined;

  constructor(jetstream: NatsJetStream, name: string, replicas: number) {
    this.jetstream = jetstream;
    this.name = name;
    this.deadName = `${name}-dead`;
    this.#replicas = replicas;
  }

  /** Resolves when both streams are there. */
  open(): Promise<NatsManager> {
    this.#opening ??= this.#open();
    return this.#opening;
  }

  /** The next `open` looks again. */
  reset(): void {
    this.#opening = undefined;
  }

  async #open(): Promise<NatsManager> {
    try {
      const manager = await this.jetstream.jetstreamManager();
      await this.#ensure(manager, this.name, { retention: "workqueue", discard: "new" });
      await this.#ensure(manager, this.deadName, { retention: "limits", max_msgs_per_subject: 1 });
      return manager;
    } catch (error) {
      this.reset();
      throw error;
    }
  }

  /** Makes a stream, or takes one of that name that loses no job. */
  async #ensure(manager: NatsManager, name: string, own: OwnSettings): Promise<void> {
    const subjects = [`${name}.>`];
    const config = { name, subjects, storage: "file", num_replicas: this.#replicas, ...own };
    try {
      await manager.streams.add(config);
    } catch (error) {
      // It exists with other settings, or cannot be made.
      const { config: found } = await manager.streams.info(name).then(undefined, () => {
        throw error;
      });
      const isOurs = found.subjects?.includes(`${name}.>`) === true;
      const keepsJobs = found.max_age === 0 && (name === this.deadName || found.discard === "new");
      if (isOurs && keepsJobs && found.retention === own.retention) return;
      throw new QueueError(
        `the stream ${name} exists with other settings: it needs the subject ${name}.>, the retention ${own.retention}, no maximum age, and for jobs the discard policy new`,
      );
    }
  }
}
