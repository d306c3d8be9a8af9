// A high client of an earlier agent with its slot in a memory file under a lease: whoever opens the file waits until the
// process gives the lease up, which it never does. Says the descriptor as a JSON line on stdout.
import { closeSync, constants, ftruncateSync, openSync } from "node:fs";
import koffi from "koffi";
import { createMemoryFile, sealSize } from "#agent";
import { HighSlot } from "#protocol";

const F_SETLEASE = 1024;
const F_WRLCK = 1;

const made = createMemoryFile("cotenant");
ftruncateSync(made, HighSlot.size);
sealSize(made);
const fd = openSync(`/proc/self/fd/${made}`, constants.O_RDWR);
closeSync(made);
process.on("SIGIO", () => {}); // somebody wants to open the file
const leased = koffi.load("libc.so.6").func("int fcntl(int fd, int command, ...)");
if (leased(fd, F_SETLEASE, "int", F_WRLCK) !== 0) throw new Error("no lease");
console.log(JSON.stringify({ fd }));
setInterval(() => {}, 60_000);
