// A client in a process of its own, as the tests of restarts need it: attaches, maps what it is sent, counts in its slot
// every few milliseconds, and reattaches whenever the agent hangs up. Says what happens to it as JSON lines on stdout.
import { closeSync, fstatSync } from "node:fs";
import type { ClientClass } from "#protocol";
import { welcomeStatus } from "#protocol";
import { dial, helloBytes, listenTo } from "./fakes.ts";
import { regionBy } from "./region.ts";

const [socketPath = "", given = "high"] = process.argv.slice(2);
const clientClass = given as ClientClass;
const tell = (said: object) => console.log(JSON.stringify(said));

/** The common file, the slot's, and control pages. */
let files: readonly number[] = [];
let memory: ReturnType<typeof regionBy> | undefined;
let slot = -1;

async function hello(kind: "attach" | "reattach"): Promise<void> {
  try {
    const bytes = helloBytes({ kind, slot, class: clientClass, name: clientClass });
    const own = files.slice(1, clientClass === "high" ? 2 : 3);
    const socket = await dial(socketPath, bytes, kind === "reattach" ? own : []);
    socket.on("close", () => setTimeout(again, 20));
    const { welcome, files: sent } = await listenTo(socket);
    if (welcome.status === welcomeStatus.ok) {
      for (const fd of files) closeSync(fd);
      files = sent;
      memory = regionBy(welcome, clientClass, files);
      slot = welcome.slot;
    }
    const inodes = files.map((fd) => fstatSync(fd).ino);
    tell({ event: kind, status: welcome.status, slot: welcome.slot, inodes });
    if (welcome.status === welcomeStatus.attachAnew) memory = undefined;
  } catch {
    setTimeout(again, 20); // there is no agent now
  }
}

const again = () => hello(memory ? "reattach" : "attach");

void again();
setInterval(() => {
  const own = clientClass === "high" ? memory?.high[slot] : memory?.bestEffort[slot];
  if (own) own.launches = own.launches + 1;
}, 5);
