import type { Buckets } from "../buckets/buckets.ts";
import type { Resource } from "../template/assembly.ts";
import { deployFiles } from "./files.ts";
import { type DistributionModel, readDistribution } from "./model.ts";
import { DistributionServer } from "./server.ts";

/** Input to the distribution of a template. */
export interface LocalDistributionOptions {
  readonly resources: readonly Resource[];
  readonly buckets: Buckets;
  readonly localized: (text: string) => string;
}

/**
 * A server on this machine has one address for all, so on Linux, where the whole of 127.0.0.0/8 is the loopback, the
 * distribution calls the API from an address of its own.
 */
const edgeAddress = process.platform === "linux" ? { edgeAddress: "127.0.0.2" } : {};

/** The distribution of the template with its files. They are copied into their bucket when the first is asked for. */
export class LocalDistribution {
  /** Address without a slash at the end; empty before the start. */
  origin = "";
  private readonly model: DistributionModel;
  private readonly server: DistributionServer;
  private deployed = false;

  /** The distribution of these resources; undefined when there is none. Throws for what is not known here. */
  static of(options: LocalDistributionOptions): LocalDistribution | undefined {
    const model = readDistribution(options.resources);
    return model && new LocalDistribution(model, options);
  }

  private constructor(model: DistributionModel, { resources, buckets, localized }: LocalDistributionOptions) {
    this.model = model;
    this.server = new DistributionServer(model, {
      localized,
      ...edgeAddress,
      object: (bucket, key) => {
        if (!this.deployed) deployFiles(resources, (...object) => void buckets.put(...object), localized);
        this.deployed = true;
        return buckets.get(bucket, key);
      },
    });
  }

  /** Listens on the loopback: on this port, or on any free one where it is taken. */
  async start(port: number): Promise<void> {
    this.origin = await this.server.start(port);
  }

  stop(): Promise<void> {
    return this.server.stop();
  }

  /** A text of the template with the local address of the distribution in place of that on AWS. */
  localized(text: string): string {
    return text.replaceAll(this.model.aws_origin, this.origin);
  }
}
