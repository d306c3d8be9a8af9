import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ManagerMetrics } from "./metrics.ts";

test.each(["deploy/grafana/kubernetes.json", "deploy/prometheus/kubernetes.rules.yml"])(
  "%s asks for metrics that the manager has",
  (file) => {
    const asked = readFileSync(file, "utf8").match(/cotenant_manager_\w+/g) ?? [];
    const types = new ManagerMetrics().text().matchAll(/^# TYPE (\S+)/gm);
    expect(asked.length).toBeGreaterThan(0);
    expect([...types].map(([, name]) => name)).toEqual(expect.arrayContaining([...new Set(asked)]));
  },
);
