import { execFileSync } from "node:child_process";
import { type Field, parseBytes, readGiven, readJson, UserError } from "#core";
import { type Objective, parseObjective } from "#policy";
import { type ClientClass, constants } from "#protocol";
import type { Annotations } from "./annotations.ts";
import { badGrants, grantsOfOthers } from "./errors.ts";
import type { Identity } from "./identity.ts";

const grantClasses = ["high", "best-effort", "none"] as const;

export interface Grant {
  readonly name: string;
  readonly to: (identity: Identity, annotations: () => Annotations) => boolean;
  /** A process with high may also be best-effort; none gets no slot. */
  readonly class: (typeof grantClasses)[number];
  readonly slots: number;
  readonly memory: number; // bytes; 0: the client's own limit
  /** Turns of such a best-effort client are this many times as long. */
  readonly share: number;
  readonly objective: Objective | undefined; // undefined: the client's own
}

/** It suffices for the ranks of a job on one GPU, but is not all slots of a GPU. */
const OTHERS_SLOTS = 4;

const unlimited = { slots: Infinity, memory: 0, share: 1, objective: undefined };

/** The permissions of a user's own folder have decided who may connect. */
export const everything: readonly Grant[] = [
  { ...unlimited, name: "an agent of one's own", to: () => true, class: "high" },
];

export const usualGrants = (agentUid: number): readonly Grant[] => [
  {
    ...unlimited,
    name: "the agent's own user",
    to: ({ uid, onHost }) => uid === agentUid && onHost,
    class: "high",
  },
  {
    ...unlimited,
    name: "everybody else",
    to: () => true,
    class: "best-effort",
    slots: OTHERS_SLOTS,
  },
];

/** Throws a UserError if the file is wrong, or if other users may write to it. */
export function readGrants(path: string, agentUid: number): readonly Grant[] {
  const text = readGiven(path, "file of grants", ({ uid, mode }) => {
    if ((uid !== 0 && uid !== agentUid) || (mode & 0o022) !== 0) throw grantsOfOthers(path);
  });
  const file = readJson(text, path, badGrants).only(["version", "grants"]);
  file.at("version").one([1]);
  return [...file.at("grants").list().map(grantIn), ...usualGrants(agentUid)];
}

const fields = ["name", "to", "class", "slots", "memory", "share", "objective"];

function grantIn(field: Field, index: number): Grant {
  field.only(fields);
  return {
    name: field
      .at("name")
      .or(`number ${index + 1}`)
      .text(),
    to: conditionIn(field.at("to")),
    class: field.at("class").one(grantClasses),
    slots: field.at("slots").optional((slots) => slots.whole(0)) ?? Infinity,
    memory: field.at("memory").optional(bytesIn) ?? 0,
    share: field.at("share").optional((share) => share.whole(1, constants.MAX_SHARE)) ?? 1,
    objective: field.at("objective").optional(objectiveIn),
  };
}

type Condition = Grant["to"];

/** A grant applies if all of its conditions hold. */
const conditions: Readonly<Record<string, (field: Field) => Condition>> = {
  everybody: (field) => {
    if (!field.boolean()) throw field.not("true");
    return () => true;
  },
  user: (field) => {
    const wanted = idIn(field, "passwd");
    return ({ uid }) => uid === wanted;
  },
  group: (field) => {
    const wanted = idIn(field, "group");
    return ({ gid, groups }) => gid === wanted || groups.includes(wanted);
  },
  container: (field) => {
    const wanted = field.text();
    return ({ container }) => container === wanted;
  },
  pod: (field) => {
    const wanted = field.text();
    return ({ pod }) => pod === wanted;
  },
  unit: (field) => {
    const wanted = field.text();
    return ({ unit }) => unit === wanted;
  },
  slurmJob: (field) => {
    const wanted = field.text();
    return ({ slurmJob }) => slurmJob === wanted;
  },
  cgroup: (field) => {
    const wanted = field.text().replace(/\/+$/, "");
    if (!wanted.startsWith("/")) throw field.not("a path from the root, such as /system.slice");
    return ({ cgroup }) => cgroup === wanted || cgroup.startsWith(`${wanted}/`);
  },
  annotations: (field) => {
    const wanted = field.entries().map(([name, value]) => [name, value.text()] as const);
    if (wanted.length === 0) throw field.bad("is empty: there must be at least one annotation.");
    return (_, annotations) => wanted.every(([name, value]) => annotations()[name] === value);
  },
};

function conditionIn(field: Field): Condition {
  const given = field.only(Object.keys(conditions)).entries();
  if (given.length === 0)
    throw field.bad("is empty: it must say to whom.", 'For all: "to": { "everybody": true }.');
  const all = given.flatMap(([name, value]) => conditions[name]?.(value) ?? []);
  return (identity, annotations) => all.every((holds) => holds(identity, annotations));
}

/** The agent waits for a lookup, and a user database on the network may never answer. */
const LONGEST_LOOKUP = 2_000; // ms

function idIn(field: Field, database: "passwd" | "group"): number {
  if (typeof field.value === "number") return field.whole(0);
  const name = field.text();
  try {
    const output = execFileSync("getent", [database, name], {
      stdio: ["ignore", "pipe", "ignore"],
      timeout: LONGEST_LOOKUP,
    });
    return Number(output.toString().split(":")[2]);
  } catch {
    throw field.bad(
      `is ${field.brief}, which getent ${database} does not know.`,
      "A number always works.",
    );
  }
}

function bytesIn(field: Field): number {
  if (typeof field.value === "number") return field.whole(1);
  return parsedIn(field, parseBytes);
}

function objectiveIn(field: Field): Objective {
  return parsedIn(field, (text) => parseObjective([text]));
}

function parsedIn<T>(field: Field, parse: (text: string) => T): T {
  try {
    return parse(field.text());
  } catch (error) {
    if (!(error instanceof UserError) || error.code !== "USAGE") throw error;
    throw field.bad(`is ${field.brief}: ${error.message}`);
  }
}

export const allows = (grant: Grant, asked: ClientClass): boolean =>
  grant.class === "high" || grant.class === asked;
