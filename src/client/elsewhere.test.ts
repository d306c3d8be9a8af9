// Sockets of real processes, as the kernel lists them.
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { expect, onTestFinished, test } from "vitest";
import { pathsIn } from "#agent";
import { agentsElsewhere } from "./elsewhere.ts";

const uid = process.getuid?.() ?? 0;

function temporary(): string {
  const directory = mkdtempSync(`${tmpdir()}/cotenant-elsewhere-`);
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

async function listen(path: string) {
  const server = createServer().listen(path);
  onTestFinished(() => void server.close());
  await once(server, "listening");
  return server;
}

test("agents of a user and of the machine are found by their sockets, once each", async () => {
  const [own, machine, here, other] = [temporary(), temporary(), temporary(), temporary()];
  mkdirSync(pathsIn(machine).shared);
  await listen(pathsIn(own).socket);
  await listen(pathsIn(machine).sharedSocket);
  await listen(pathsIn(here).socket);
  await listen(`${other}/other.sock`);
  const client = connect(pathsIn(own).socket);
  onTestFinished(() => void client.destroy());
  await once(client, "connect");
  const found = agentsElsewhere(here).filter(({ directory }) =>
    [own, machine, here, other].some((one) => directory.startsWith(one)),
  );
  expect(found).toHaveLength(2);
  expect(found).toEqual(
    expect.arrayContaining([
      { directory: own, uid, scope: "user" },
      { directory: machine, uid, scope: "machine" },
    ]),
  );
});

test("an agent that has ended is not found, although its socket is still there", async () => {
  const directory = temporary();
  const server = await listen(pathsIn(directory).socket);
  server.close();
  await once(server, "close");
  expect(agentsElsewhere("/nowhere").map((one) => one.directory)).not.toContain(directory);
});
