// A high client with the memory of GPU B, as an earlier agent made it, under a lease: whoever opens the file waits until the
// process gives the lease up, which it never does. Says the descriptor as a JSON line on stdout.
import { closeSync, constants, openSync } from "node:fs";
import koffi from "koffi";
import { createRegion, startTimeOf } from "#agent";
import { gpuB } from "./fakes.ts";

const F_SETLEASE = 1024;
const F_WRLCK = 1;

const { pid } = process;
const { fd: made, memory } = createRegion({ uuid: gpuB, name: "Fake GPU", smCount: 132 }, 1);
Object.assign(memory.high[0] ?? {}, { state: 1, pid, startTime: startTimeOf(pid) });
const fd = openSync(`/proc/self/fd/${made}`, constants.O_RDWR);
closeSync(made);
process.on("SIGIO", () => {}); // somebody wants to open the file
const leased = koffi.load("libc.so.6").func("int fcntl(int fd, int command, ...)");
if (leased(fd, F_SETLEASE, "int", F_WRLCK) !== 0) throw new Error("no lease");
console.log(JSON.stringify({ fd }));
setInterval(() => {}, 60_000);
