import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { judge } from "./admission.ts";
import { type Grant, readGrants, usualGrants } from "./grants.ts";
import type { Identity } from "./identity.ts";

const { uid: ownUid, username } = userInfo();
const AGENT = 990;

const somebody: Identity = {
  pid: 4711,
  uid: 1000,
  gid: 100,
  groups: [],
  cgroup: "/user.slice/user-1000.slice/session-3.scope",
  container: undefined,
  pod: undefined,
  unit: "session-3.scope",
  slurmJob: undefined,
  onHost: true,
};

function write(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), "cotenant-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "grants.json");
  writeFileSync(path, text, { mode: 0o644 });
  return path;
}

const file = (grants: readonly object[]) => write(JSON.stringify({ version: 1, grants }));

/** The name of the grant that applies to a process. */
function applying(
  grants: readonly Grant[],
  fields: Partial<Identity>,
  annotations: Readonly<Record<string, string>> = {},
): string | undefined {
  const identity = { ...somebody, ...fields };
  return grants.find(({ to }) => to(identity, () => annotations))?.name;
}

describe("a condition holds for the processes that it names", () => {
  test.each<[object, Partial<Identity>, Partial<Identity>]>([
    [{ user: 1000 }, { uid: 1000 }, { uid: 1001 }],
    [{ user: username }, { uid: ownUid }, { uid: ownUid + 1 }],
    [{ user: "root" }, { uid: 0 }, { uid: 1 }],
    [{ group: 50 }, { gid: 50 }, { gid: 51 }],
    [{ group: 50 }, { groups: [1, 50] }, { groups: [51] }],
    [{ container: "web" }, { container: "web" }, { container: "web2" }],
    [{ pod: "6f1e" }, { pod: "6f1e" }, {}],
    [{ unit: "a.service" }, { unit: "a.service" }, { unit: "b.service" }],
    [{ slurmJob: "12" }, { slurmJob: "12" }, { slurmJob: "123" }],
    [{ cgroup: "/a/b" }, { cgroup: "/a/b/c" }, { cgroup: "/a/bc" }],
    [{ cgroup: "/a/b/" }, { cgroup: "/a/b" }, { cgroup: "/x/a/b" }],
    [{ everybody: true }, {}, { uid: -1 }],
  ])("%j", (to, whom, whomNot) => {
    const grants = readGrants(file([{ name: "it", to, class: "high" }]), AGENT);
    expect(applying(grants, whom)).toBe("it");
    const others = "everybody" in to ? "it" : "everybody else";
    expect(applying(grants, whomNot)).toBe(others);
  });

  test("annotations: the process's container must have all that are named", () => {
    const to = { annotations: { "cotenant.io/class": "high", team: "a" } };
    const grants = readGrants(file([{ name: "it", to, class: "high" }]), AGENT);
    const given = { ...to.annotations, more: "x" };
    expect(applying(grants, { container: "web" }, given)).toBe("it");
    expect(applying(grants, { container: "web" }, { team: "a" })).toBe("everybody else");
  });

  test("several conditions: all must hold", () => {
    const to = { user: 1000, unit: "a.service" };
    const grants = readGrants(file([{ name: "it", to, class: "high" }]), AGENT);
    expect(applying(grants, { uid: 1000, unit: "a.service" })).toBe("it");
    expect(applying(grants, { uid: 1000 })).toBe("everybody else");
    expect(applying(grants, { uid: 1, unit: "a.service" })).toBe("everybody else");
  });
});

test("the first grant that applies counts; one without a name has its number", () => {
  const grants = readGrants(
    file([
      { to: { user: 1000 }, class: "none" },
      { name: "all", to: { everybody: true }, class: "high", slots: 2, memory: "1GiB", share: 3 },
    ]),
    AGENT,
  );
  expect(applying(grants, { uid: 1000 })).toBe("number 1");
  expect(applying(grants, { uid: 1 })).toBe("all");
  expect(grants[1]).toMatchObject({ class: "high", slots: 2, memory: 2 ** 30, share: 3 });
  expect(grants[0]).toMatchObject({ share: 1 });
});

test("an objective is written as for cotenant run", () => {
  const grants = readGrants(
    file([{ to: { everybody: true }, class: "high", objective: "p99=10ms" }]),
    AGENT,
  );
  expect(grants[0]?.objective).toEqual({ p99Us: 10_000, slowdown: undefined });
});

describe("without a file", () => {
  const grants = usualGrants(0);
  test.each<[string, Partial<Identity>, string]>([
    ["the agent's own user on the host", { uid: 0 }, "the agent's own user"],
    [
      "the same number in a container",
      { uid: 0, onHost: false, container: "web" },
      "everybody else",
    ],
    ["another user", { uid: 1000 }, "everybody else"],
  ])("%s", (_, identity, name) => {
    expect(applying(grants, identity)).toBe(name);
  });

  test("others are best-effort, and one tenant of them does not get all the slots", () => {
    const others = grants.at(-1);
    expect(others).toMatchObject({ class: "best-effort", slots: 4 });
    expect(grants[0]).toMatchObject({ class: "high", slots: Infinity });
  });
});

describe("a wrong file is refused with its line and field", () => {
  const grant = { to: { everybody: true }, class: "high" };
  test.each<[unknown, RegExp]>([
    [{ grants: [] }, /version: is missing\.$/],
    [{ version: 2, grants: [] }, /version: is 2, not 1\.$/],
    [{ version: 1 }, /grants: is missing\.$/],
    [
      { version: 1, grants: [{ ...grant, clas: "high" }] },
      /grants\[0\]\.clas: does not belong there\.$/,
    ],
    [
      { version: 1, grants: [{ ...grant, class: "low" }] },
      /class: is "low", not one of high, best-effort, none\.$/,
    ],
    [
      { version: 1, grants: [{ ...grant, to: {} }] },
      /grants\[0\]\.to: is empty: it must say to whom\.$/,
    ],
    [
      { version: 1, grants: [{ ...grant, to: { everybody: false } }] },
      /everybody: is false, not true\.$/,
    ],
    [
      { version: 1, grants: [{ ...grant, to: { label: "x" } }] },
      /to\.label: does not belong there\.$/,
    ],
    [
      { version: 1, grants: [{ ...grant, to: { user: "no such user" } }] },
      /user: is "no such user", which getent passwd does not know\.$/,
    ],
    [
      { version: 1, grants: [{ ...grant, to: { user: -1 } }] },
      /user: is -1, not a whole number of 0 or more\.$/,
    ],
    [
      { version: 1, grants: [{ ...grant, to: { cgroup: "a" } }] },
      /cgroup: is "a", not a path from the root/,
    ],
    [{ version: 1, grants: [{ ...grant, to: { annotations: {} } }] }, /annotations: is empty/],
    [
      { version: 1, grants: [{ ...grant, slots: 1.5 }] },
      /slots: is 1\.5, not a whole number of 0 or more\.$/,
    ],
    [{ version: 1, grants: [{ ...grant, share: 0 }] }, /share: is 0, not a whole number/],
    [
      { version: 1, grants: [{ ...grant, memory: "much" }] },
      /memory: is "much": "much" is not a size/,
    ],
    [
      { version: 1, grants: [{ ...grant, objective: "fast" }] },
      /objective: is "fast": .*neither p99=TIME nor slowdown=PERCENT, nor .*\.$/,
    ],
  ])("%j", (content, says) => {
    const path = write(JSON.stringify(content));
    expect(() => readGrants(path, ownUid)).toThrow(says);
    expect(() => readGrants(path, ownUid)).toThrow(path);
  });

  test("no file, and no JSON", () => {
    expect(() => readGrants("/no/grants.json", ownUid)).toThrow(
      "The file of grants /no/grants.json can't be read: no such file or directory.",
    );
    expect(() => readGrants(write("{"), ownUid)).toThrow(/line 1/);
  });
});

describe("a file that others may write to is refused", () => {
  test.each([0o664, 0o646, 0o666])("mode %o", (mode) => {
    const path = file([]);
    chmodSync(path, mode);
    expect(() => readGrants(path, ownUid)).toThrow("is not believed");
  });

  test.skipIf(ownUid !== 0)("one that belongs to another user, except the agent's", () => {
    const path = file([]);
    chownSync(path, 1000, 1000);
    expect(() => readGrants(path, 0)).toThrow("is not believed");
    expect(readGrants(path, 1000).map(({ name }) => name)).toEqual(
      usualGrants(1000).map(({ name }) => name),
    );
  });
});

describe("a grant judges", () => {
  const grant: Grant = {
    name: "g",
    to: () => true,
    class: "high",
    slots: 2,
    share: 1,
    memory: 0,
    objective: undefined,
  };
  const who = "uid 1000, unit session-3.scope";
  test.each<[string, Partial<Grant>, "high" | "best-effort", number, string | undefined]>([
    ["high may be high", {}, "high", 0, undefined],
    ["high may be best-effort", {}, "best-effort", 1, undefined],
    [
      "the slots are used up",
      {},
      "high",
      2,
      `${who} has taken all its slots on this GPU (2), by the grant "g".`,
    ],
    [
      "best-effort is not high",
      { class: "best-effort" },
      "high",
      0,
      `${who} may only be best-effort here, by the grant "g".`,
    ],
    ["best-effort is best-effort", { class: "best-effort" }, "best-effort", 0, undefined],
    ["none", { class: "none" }, "best-effort", 0, `${who} gets no slot here, by the grant "g".`],
  ])("%s", (_, fields, asked, held, refusal) => {
    expect(judge(somebody, asked, held, { ...grant, ...fields }).refusal).toBe(refusal);
  });
});
