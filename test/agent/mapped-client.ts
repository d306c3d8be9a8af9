// A client in a process of its own, as the tests of restarts need it: attaches, maps the region, counts
// in its slot every few milliseconds, and reattaches whenever the agent hangs up. Says what happens to it
// as JSON lines on stdout.
import { SharedRegion } from "#agent";
import type { ClientClass } from "#protocol";
import { welcomeStatus } from "#protocol";
import { dial, helloBytes, listenTo } from "./fakes.ts";

const [socketPath = "", given = "high"] = process.argv.slice(2);
const clientClass = given as ClientClass;
const tell = (said: object) => console.log(JSON.stringify(said));

let region: SharedRegion | undefined;
let slot = -1;

async function hello(kind: "attach" | "reattach"): Promise<void> {
  try {
    const bytes = helloBytes({ kind, slot, class: clientClass, name: clientClass });
    const socket = await dial(socketPath, bytes, region?.fd);
    socket.on("close", () => setTimeout(again, 20));
    const { welcome, descriptor } = await listenTo(socket);
    if (welcome.status === welcomeStatus.ok && kind === "attach" && descriptor !== undefined) {
      region = new SharedRegion(descriptor);
      slot = welcome.slot;
    }
    const { inode, fd } = region ?? {};
    tell({ event: kind, status: welcome.status, slot: welcome.slot, inode, fd });
    if (welcome.status === welcomeStatus.newRegion) region = undefined;
  } catch {
    setTimeout(again, 20); // there is no agent now
  }
}

const again = () => hello(region ? "reattach" : "attach");

void again();
setInterval(() => {
  const { memory } = region ?? {};
  const own = clientClass === "high" ? memory?.high[slot] : memory?.bestEffort[slot];
  if (own) own.launches = own.launches + 1;
}, 5);
