// The shared memory of a GPU as a process has it, put together from the memory files that it has open.
import { closeSync, openSync, readlinkSync } from "node:fs";
import { common, MappedRange, openFilesOf, type Part, placeOf, REGION_LINK } from "#agent";
import { Region, type View, view, type Welcome } from "#protocol";

type Memory = View<typeof Region>;

/** Memory of the process' files by their names; zeros where it has none. undefined: it has no common file. */
export function regionOf(pid: number): Memory | undefined {
  const range = new MappedRange(Region.size);
  let isThere = false;
  for (const path of openFilesOf(pid, REGION_LINK)) {
    const name = nameOf(path);
    const part = /^-(hold|high|best-effort)-(\d+)$/.exec(name ?? "");
    if (name !== "" && !part) continue;
    const { offset, size } = part
      ? placeOf({ kind: part[1] as Part["kind"], slot: Number(part[2]) })
      : common;
    const fd = openNow(path, part ? "r+" : "r");
    if (fd === undefined) continue;
    isThere ||= name === "";
    range.put(fd, offset, size, part ? "write" : "read");
    closeSync(fd);
  }
  return isThere ? view(Region, range.buffer) : undefined;
}

// A file that the process closes meanwhile is none of its files any more: undefined.

const nameOf = (path: string): string | undefined =>
  unlessGone(() => readlinkSync(path).replace(REGION_LINK, "").replace(" (deleted)", ""));

const openNow = (path: string, flags: string): number | undefined =>
  unlessGone(() => openSync(path, flags));

function unlessGone<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** As the interposer maps what a Welcome brings. */
export function regionBy(
  welcome: View<typeof Welcome>,
  kind: "high" | "best-effort",
  files: readonly number[],
): Memory {
  const range = new MappedRange(Region.size);
  const slots = [...Array(32).keys()].filter((slot) => welcome.holds & (1 << slot));
  const parts: readonly Part[] = [
    { kind, slot: welcome.slot },
    ...slots.map((slot) => ({ kind: "hold", slot }) as const),
  ];
  const [first, ...rest] = files;
  if (first === undefined || rest.length !== parts.length) throw new Error("files are missing");
  range.put(first, common.offset, common.size, "read");
  for (const [i, part] of parts.entries()) {
    const { offset, size } = placeOf(part);
    range.put(rest[i] ?? -1, offset, size);
  }
  return view(Region, range.buffer);
}
