import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { accessFromKubeconfig } from "./kubeconfig.ts";

const folder = mkdtempSync(join(tmpdir(), "cotenant-kubeconfig-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** A kubeconfig with one context for a user; returns its path. */
function kubeconfig(user: string): string {
  const path = join(folder, "config");
  writeFileSync(
    path,
    `
current-context: test
clusters: [{ name: c, cluster: { server: "https://10.0.0.1:6443", certificate-authority-data: ${Buffer.from("PEM").toString("base64")} } }]
users: [{ name: u, user: ${user} }]
contexts: [{ name: test, context: { cluster: c, user: u } }]
`,
  );
  return path;
}

test("a token, a file of a token and certificates are read, relative to the kubeconfig", () => {
  expect(accessFromKubeconfig(kubeconfig("{ token: secret }"), undefined, {}).token()).toBe(
    "secret",
  );
  writeFileSync(join(folder, "token"), "from-a-file\n");
  const access = accessFromKubeconfig(kubeconfig("{ tokenFile: token }"), undefined, {});
  expect(access.token()).toBe("from-a-file");
  expect(access).toMatchObject({ server: "https://10.0.0.1:6443", authority: "PEM" });
});

test("a plug-in is asked once until its credentials expire", () => {
  const script = join(folder, "plug-in");
  const answer = (until: string) =>
    `{"status":{"token":"'$(cat ${folder}/asked | wc -l)'","expirationTimestamp":"${until}"}}`;
  const plugin = (until: string) => {
    writeFileSync(join(folder, "asked"), "");
    writeFileSync(script, `#!/bin/sh\necho x >>${folder}/asked\necho '${answer(until)}'\n`, {
      mode: 0o755,
    });
    return accessFromKubeconfig(kubeconfig("{ exec: { command: ./plug-in } }"), undefined, {});
  };
  const lasting = plugin("2999-01-01T00:00:00Z");
  const first = lasting.token();
  expect(lasting.token()).toBe(first);
  const expired = plugin("2000-01-01T00:00:00Z");
  expect(expired.token()).not.toBe(expired.token());
});

test("one that is missing is said with the ways to name another", () => {
  const missing = { HOME: join(folder, "nobody") };
  expect(() => accessFromKubeconfig(undefined, undefined, missing)).toThrow(
    expect.objectContaining({
      message: `There is no kubeconfig: ${folder}/nobody/.kube/config is missing.`,
      hint: expect.stringContaining("--kubeconfig"),
    }),
  );
  const named = { KUBECONFIG: join(folder, "other") };
  expect(() => accessFromKubeconfig(undefined, undefined, named)).toThrow(`${folder}/other`);
});

test("a certificate that is missing is named", () => {
  const path = kubeconfig("{ client-certificate: cert.pem, client-key: key.pem }");
  expect(() => accessFromKubeconfig(path, undefined, {})).toThrow(
    `The client-certificate ${folder}/cert.pem can't be read: no such file or directory.`,
  );
});

test("what is wrong with a kubeconfig is said with the file and the cure", () => {
  const path = kubeconfig("{}");
  expect(() => accessFromKubeconfig(path, "other", {})).toThrow(`contexts: has no "other".`);
  writeFileSync(path, "contexts: []");
  expect(() => accessFromKubeconfig(path, undefined, {})).toThrow("has no current context");
  writeFileSync(path, "a: [");
  expect(() => accessFromKubeconfig(path, undefined, {})).toThrow("is no YAML");
});
