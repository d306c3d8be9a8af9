// Each order is a command of `cotenant`, so that it says and refuses the same.
import { spawn } from "node:child_process";
import { cotenantProgram } from "#core";
import { pidsText, rowsOf } from "./columns.ts";
import type { Model, Order } from "./model.ts";

const verbs = { P: "park", R: "resume", M: "move", E: "end" } as const;
export type Letter = keyof typeof verbs;

export const isLetter = (text: string): text is Letter => Object.hasOwn(verbs, text);

export function orderText({ letter, key }: Order, model: Model): string {
  const row = rowsOf(model.snapshot).find((one) => one.key === key);
  if (!row) return "The client is gone.";
  const { name, class: kind, processes } = row.client;
  const who = `${name} (pid ${pidsText(row.client)})`;
  if (kind !== "best-effort")
    return `${who} is a service: only best-effort jobs are parked, moved and ended.`;
  if (letter === "M" && processes.length > 0)
    return `${who} can't be moved: it has several processes. "cotenant move" moves one of them.`;
  if (letter === "M" && otherGpu(key, model) === undefined)
    return `${who} can't be moved: there is no other GPU with a client.`;
  return `${letter === "E" ? "End" : `${verbs[letter][0]?.toUpperCase()}${verbs[letter].slice(1)}`} ${who}? Press ${letter} again; any other key forgets it.`;
}

/** undefined: the order can't be given. */
export async function give({ letter, key }: Order, model: Model): Promise<string | undefined> {
  const row = rowsOf(model.snapshot).find((one) => one.key === key);
  const target = row?.client.processes.length === 0 ? otherGpu(key, model) : undefined;
  if (row?.client.class !== "best-effort" || (letter === "M" && target === undefined))
    return undefined;
  const pid = String(row.client.pid);
  const words = {
    P: ["park", pid],
    R: ["resume", pid],
    M: ["move", pid, "--to", target ?? ""],
    E: ["evict", pid, "--end"],
  }[letter];
  return await lastLine(words);
}

const otherGpu = (key: string, { snapshot }: Model): string | undefined =>
  snapshot.gpus.find(({ uuid }) => !key.startsWith(`${uuid} `))?.uuid;

function lastLine(words: readonly string[]): Promise<string> {
  const { command, args } = cotenantProgram();
  const child = spawn(command, [...args, ...words], { stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk) => {
      said += chunk;
    });
  return new Promise((resolve) => {
    child.on("error", (error) => resolve(error.message));
    child.on("close", () => resolve(said.trim().split("\n").at(-1) ?? ""));
  });
}
