import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { annotationsOf } from "./annotations.ts";

const annotations = { "cotenant.io/class": "high" };

function runtimes() {
  const root = mkdtempSync(join(tmpdir(), "cotenant-test-"));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const tasks = join(root, "tasks");
  const storage = join(root, "storage");
  const write = (folder: string, text: string) => {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "config.json"), text);
  };
  return {
    write,
    containerd: (name: string) => join(tasks, "k8s.io", name),
    podman: (name: string) => join(storage, "overlay-containers", name, "userdata"),
    of: (container: string) => annotationsOf(container, tasks, [storage]),
  };
}

test("a container's annotations are found with containerd, in any of its namespaces", () => {
  const { write, containerd, of } = runtimes();
  write(containerd("web"), JSON.stringify({ annotations }));
  expect(of("web")).toEqual(annotations);
});

test("and with Podman and CRI-O", () => {
  const { write, podman, of } = runtimes();
  write(podman("web"), JSON.stringify({ annotations }));
  expect(of("web")).toEqual(annotations);
});

test("an unknown container and one without annotations have none", () => {
  const { write, containerd, of } = runtimes();
  write(containerd("web"), "{}");
  write(containerd("torn"), '{"annotations": {');
  write(containerd("odd"), JSON.stringify({ annotations: { a: "b", n: 1, o: {} } }));
  for (const container of ["web", "torn", "other"]) expect(of(container)).toEqual({});
  expect(of("odd")).toEqual({ a: "b" });
});
