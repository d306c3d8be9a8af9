// nvidia-ctk and NVIDIA's operator write such specifications.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";

/** If several specifications name the GPU, the first one counts. */
const KIND = "nvidia.com/gpu";

/** Throws a sentence with the cure. `folders`: where container runtimes look. */
export function vendorDevice(gpu: string, folders: readonly string[]): string {
  const kinds = folders
    .flatMap(specificationsIn)
    .flatMap(({ kind, devices }) => (devices.some(({ name }) => name === gpu) ? [kind] : []));
  const kind = kinds.includes(KIND) ? KIND : kinds[0];
  if (kind === undefined)
    throw new Error(
      `no CDI specification in ${folders.join(" or ")} has a device ${gpu}: ` +
        "run nvidia-ctk cdi generate --device-name-strategy=uuid on the node",
    );
  return `${kind}=${gpu}`;
}

interface Specification {
  readonly kind: string;
  readonly devices: readonly { readonly name: string }[];
}

function specificationsIn(folder: string): readonly Specification[] {
  let names: readonly string[];
  try {
    names = readdirSync(folder);
  } catch {
    return []; // no such folder
  }
  return names
    .filter((name) => /\.(json|yaml)$/.test(name))
    .flatMap((name) => {
      try {
        const { kind, devices } = parse(readFileSync(join(folder, name), "utf8"));
        return typeof kind === "string" && Array.isArray(devices) ? [{ kind, devices }] : [];
      } catch {
        return []; // runtimes pass over a damaged specification, too
      }
    });
}
