// The work of others in the package: packages whose modules are in a bundle or that are shipped as they are, and libraries that
// native programs are linked with. Two files in dist: their licences for people, and a bill of materials in CycloneDX's format.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Plugin } from "vite";

const root = join(import.meta.dirname, "..");

interface Component {
  readonly name: string;
  readonly version: string;
  readonly licence: string;
  readonly text: string;
  /** SHA-512 of the archive in the registry, in hexadecimal digits. */
  readonly sha512: string;
}

/** Packages that stand beside the bundle: bundleDependencies of package.json, and what these bring for this machine. */
const shipped = ["koffi", "@koromix/koffi-linux-x64", "z3-solver"];

/** Its licence demands that people learn how to link a program again. */
const linked = `The programs "cotenant" and "cotenant-ptxas" are linked statically with the GNU C Library (LGPL-2.1-or-later) and with
libgcc and libstdc++ of GCC (GPL-3.0-or-later with the GCC Runtime Library Exception), of the Debian release on which the package was
built. Their sources are in native/launcher and native/ptxas of Cotenant's source code, and "make -C native shipped" links them anew,
with any version of these libraries.`;

/** Collects the packages of others in the bundles that have it as a plugin. */
export function thirdParty(): { readonly plugin: Plugin; write(folder: string): void } {
  const names = new Set(shipped);
  return {
    plugin: {
      name: "third-party",
      generateBundle(_, bundle) {
        for (const part of Object.values(bundle))
          if (part.type === "chunk")
            for (const id of part.moduleIds) {
              const name = packageOf(id);
              if (name !== undefined) names.add(name);
            }
      },
    },
    write(folder) {
      const components = [...names].toSorted().map(component);
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, "THIRD-PARTY-NOTICES.txt"), notices(components));
      writeFileSync(
        join(folder, "sbom.cdx.json"),
        `${JSON.stringify(sbom(components), null, 1)}\n`,
      );
    },
  };
}

/** The package that a module belongs to; undefined: it is ours, or made by the bundler. */
const packageOf = (id: string): string | undefined =>
  /^[^\0].*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(id)?.[1];

function component(name: string): Component {
  const folder = join(root, "node_modules", name);
  const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));
  const { integrity = "" } = lock.packages[`node_modules/${name}`] ?? {};
  const [, digest = ""] = /^sha512-(.+)$/.exec(integrity) ?? [];
  const sha512 = Buffer.from(digest, "base64").toString("hex");
  // The binary of koffi comes without a copy of its licence.
  const text = licenceIn(name.startsWith("@koromix/") ? join(root, "node_modules/koffi") : folder);
  if (typeof license !== "string" || text === undefined || sha512 === "")
    throw new Error(`${name}: its licence or its hash is missing`);
  return { name, version, licence: license, text, sha512 };
}

function licenceIn(folder: string): string | undefined {
  const file = readdirSync(folder).find((name) => /^(licen[cs]e|copying)/i.test(name));
  return file && readFileSync(join(folder, file), "utf8").trim();
}

const notices = (components: readonly Component[]): string =>
  `${[
    "Cotenant is licensed under Apache-2.0: see LICENSE. It brings the following work of others.",
    linked,
    ...components.map(
      ({ name, version, licence, text }) =>
        `${"=".repeat(70)}\n${name} ${version} (${licence})\n\n${text}`,
    ),
  ].join("\n\n")}\n`;

/** Without a time and a random number: two bills of one tree are equal. */
function sbom(components: readonly Component[]) {
  const { name, version, license } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.5",
    version: 1,
    metadata: {
      component: { type: "application", name, version, licenses: [{ license: { id: license } }] },
    },
    components: components.map((one) => ({
      type: "library",
      name: one.name,
      version: one.version,
      purl: `pkg:npm/${one.name.replace("@", "%40")}@${one.version}`,
      licenses: [{ license: { id: one.licence } }],
      hashes: [{ alg: "SHA-512", content: one.sha512 }],
    })),
  };
}
