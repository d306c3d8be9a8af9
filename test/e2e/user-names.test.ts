// Users by name, beside their numbers, wherever people look at clients.
import { userInfo } from "node:os";
import { expect, test } from "vitest";
import { service } from "./faults.ts";
import { eventually, startMachine } from "./machine.ts";

test("a client's user has its name in the status, why and events, and its number in the log", async () => {
  const { uid, username } = userInfo();
  const machine = await startMachine();
  const load = machine.load("high", service);
  await load.serving;
  await eventually("the name was looked up", async () => {
    const [client] = (await machine.status()).gpus[0]?.high ?? [];
    return client?.identity?.uid === uid && client.identity.user === username;
  });
  const told = async (...words: string[]) => (await machine.cotenant(words)).stdout;
  const named = `uid ${uid} (${username})`;
  expect(await told("why", `${load.pid}`)).toContain(named);
  expect(await told("events")).toContain(named);
  expect(await told("events", "--json")).toMatch(
    new RegExp(`"of":"uid ${uid}["]|"of":"uid ${uid},`),
  );
});
