// How each kernel of the corpus is launched: a table that the emulator's tests read, and whoever runs the same
// kernels on a GPU. Inputs follow from the kernel's name and the argument's position alone.
import { blockKernels } from "./blocks.ts";
import type { Launch } from "./launch.ts";
import { specialKernels } from "./special.ts";
import { threadKernels } from "./threads.ts";

export type { Argument, Buffer, Element, Launch } from "./launch.ts";

export const launches: readonly Launch[] = [...threadKernels, ...blockKernels, ...specialKernels];
