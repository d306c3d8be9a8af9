// A client in a process of its own, as the tests of restarts need it: attaches, maps the region, counts
// in its slot every few milliseconds, and reattaches whenever the agent hangs up. Says what happens to it
// as JSON lines on stdout.
import { openSync } from "node:fs";
import { connect } from "node:net";
import { SharedRegion } from "#agent";
import type { ClientClass } from "#protocol";
import { view, Welcome, welcomeStatus } from "#protocol";
import { type HelloFields, helloBytes } from "./fakes.ts";

const [socketPath = "", kind = "high"] = process.argv.slice(2);
const tell = (said: object) => console.log(JSON.stringify(said));

let region: SharedRegion | undefined;
let slot = -1;

function hello(fields: HelloFields): void {
  const socket = connect(socketPath);
  socket.on("error", () => {});
  socket.on("close", () => setTimeout(again, 20));
  socket.once("data", (bytes) => {
    const welcome = view(Welcome, Uint8Array.from(bytes).buffer);
    if (welcome.status === welcomeStatus.ok && fields.kind !== "reattach") {
      region = new SharedRegion(openSync(`/proc/${welcome.agentPid}/fd/${welcome.regionFd}`, "r+"));
      slot = welcome.slot;
    }
    tell({
      event: fields.kind ?? "attach",
      status: welcome.status,
      slot: welcome.slot,
      inode: region?.inode,
      fd: region?.fd,
    });
    if (welcome.status === welcomeStatus.newRegion) region = undefined;
  });
  socket.write(helloBytes({ ...fields, class: kind as ClientClass, name: kind }));
}

const again = () => hello(region ? { kind: "reattach", slot, regionFd: region.fd } : {});

hello({});
setInterval(() => {
  const { memory } = region ?? {};
  const own = kind === "high" ? memory?.high[slot] : memory?.bestEffort[slot];
  if (own) own.launches = own.launches + 1;
}, 5);
