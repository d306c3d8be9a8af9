// Which folder of the native parts may include which, so that includes point one way.

/** The layers of each library, lowest first: a file includes files of its own folder and of the folders before it. */
export const layers: Readonly<Record<string, readonly string[]>> = {
  "native/interposer": [
    "base",
    "process",
    "lookup",
    "kernels",
    "agent",
    "state",
    "high",
    "products",
    "variants",
    "quota",
    "best_effort",
    "gangs",
    "movable",
    "parking",
    "lifetime",
    "graphs",
    "record",
    "calls",
    "exports",
  ],
  "native/softgpu": [
    "entry",
    "device",
    "engine",
    "ptx",
    "image",
    "runtime",
    "driver",
    "api",
    "offered",
  ],
};

/** A part of native → the other parts it may include. */
export const libraries: Readonly<Record<string, readonly string[]>> = {
  "native/generated": [],
  "native/include": [],
  "native/driver": [],
  "native/libc": [],
  "native/gate": ["native/generated"],
  "native/ptxas": ["native/generated", "native/libc", "native/interposer/base"],
  "native/launcher": ["native/generated", "native/interposer/base"],
  "native/softgpu": ["native/driver", "native/libc"],
  "native/nccl": [],
  "native/interposer": [
    "native/nccl",
    "native/driver",
    "native/gate",
    "native/generated",
    "native/include",
    "native/libc",
    // The names and the text of variants, which both read.
    "native/ptxas/variant_text.h",
  ],
};

/** Includes that point to a higher layer, each with the reason. */
export const upward: readonly {
  readonly file: string;
  readonly includes: string;
  readonly why: string;
}[] = [
  {
    file: "native/interposer/state/streams.cpp",
    includes: "native/interposer/lifetime/attachment.h",
    why: "the first use of a context that was made before it was seen attaches it",
  },
  {
    file: "native/interposer/process/process.cpp",
    includes: "native/interposer/calls/forks.h",
    why: "the decision about the role registers the handler of forks",
  },
  {
    file: "native/interposer/precompiled.h",
    includes: "native/interposer/lookup/entry.h",
    why: "it holds what most files include, and none includes it",
  },
  {
    file: "native/softgpu/precompiled.h",
    includes: "native/softgpu/driver/driver.h",
    why: "it holds what most files include, and none includes it",
  },
];
