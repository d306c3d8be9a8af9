// Attacks of a user of the machine on the agent and on other users, and their outcome.
import { chmodSync, copyFileSync, existsSync, readdirSync, rmSync, statSync } from "node:fs";
import { release, tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { pathsIn } from "#agent";
import { BestEffortSlot, Hello, Region } from "#protocol";
import { helloBytes } from "../../agent/fakes.ts";
import { service } from "../faults.ts";
import { eventually, withoutLate } from "../machine.ts";
import { allowed, HIGH_UID, OTHER_UID, python, SOFT_GPU, sharedMachine } from "./shared-machine.ts";

/** Connects as fast as it can, for as long as it lives, and keeps the last 500 connections. */
const FLOOD = `
import socket, sys, time
held = []
count = 0
print("flooding", file=sys.stderr, flush=True)
while True:
    try:
        one = socket.socket(socket.AF_UNIX)
        one.connect(sys.argv[1])
        held = held[-500:] + [one]
        count += 1
        if count == 10000:
            print("10000 connections", file=sys.stderr, flush=True)
    except OSError:
        time.sleep(0.001)
`;

/**
 * Forks as fast as it can, 16 processes at a time at most: more would take the CPUs from the agent, which is for cgroups to prevent. Each child says hello and ends. Arguments: the socket, a Hello,
 * the places of pid and start time in it.
 */
const FORKS = `
import os, resource, socket, struct, sys
path, hello, pid, start = sys.argv[1:]
hello = bytearray.fromhex(hello)
resource.setrlimit(resource.RLIMIT_NPROC, (16, 16))
def child():
    stat = open("/proc/self/stat").read()
    struct.pack_into("<I", hello, int(pid), os.getpid())
    struct.pack_into("<Q", hello, int(start), int(stat[stat.rindex(")") + 2:].split()[19]))
    one = socket.socket(socket.AF_UNIX)
    one.settimeout(0.2)
    one.connect(path)
    one.send(hello)
    one.recv(1)
count = 0
while True:
    try:
        if os.fork() == 0:
            try:
                child()
            finally:
                os._exit(0)
        count += 1
        if count % 500 == 0:
            print("forked", count, "times", file=sys.stderr, flush=True)
        while os.waitpid(-1, os.WNOHANG)[0] != 0:
            pass
    except BlockingIOError:
        os.waitpid(-1, 0)
    except ChildProcessError:
        pass
`;

/**
 * Comes back again and again with files as a client of an earlier agent has them, to all slots, and goes away at once.
 * Arguments: the socket, a Hello, and the places of pid, start time and slot in it, and the sizes of its files.
 */
const RETURNS = `
import fcntl, os, socket, struct, sys
path, hello, pid, start, slot, *sizes = sys.argv[1:]
hello = bytearray.fromhex(hello)
stat = open("/proc/self/stat").read()
struct.pack_into("<I", hello, int(pid), os.getpid())
struct.pack_into("<Q", hello, int(start), int(stat[stat.rindex(")") + 2:].split()[19]))
def files():
    for size in sizes:
        fd = os.memfd_create("cotenant", os.MFD_ALLOW_SEALING)
        os.ftruncate(fd, int(size))
        fcntl.fcntl(fd, 1033, 7)
        yield fd
came = answered = 0
while True:
    own = list(files())
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.connect(path)
            struct.pack_into("<i", hello, int(slot), came % 16)
            socket.send_fds(one, [hello], own)
            answered += len(one.recv(4096)) > 0
    except OSError:
        pass
    for fd in own:
        os.close(fd)
    came += 1
    if came % 1000 == 0 and answered > 0:
        print("came back", came, "times", file=sys.stderr, flush=True)
`;

/**
 * Connects in a process that ends and leaves its connection to this one, waits until the kernel has given its pid to
 * another process, and says hello in the name of that. Arguments: the socket, a Hello, the places of pid and start time.
 */
const REUSES = `
import os, signal, socket, struct, sys, time
path, hello, pid, start = sys.argv[1:]
mine, theirs = socket.socketpair()
connector = os.fork()
if connector == 0:
    one = socket.socket(socket.AF_UNIX)
    one.connect(path)
    socket.send_fds(theirs, [b"x"], [one.fileno()])
    os._exit(0)
_, (connection,), _, _ = socket.recv_fds(mine, 1, 1)
os.waitpid(connector, 0)
while True:
    with open("/proc/sys/kernel/ns_last_pid", "w") as last:
        last.write(str(connector - 1))
    other = os.fork()
    if other == 0:
        signal.pause()
    if other == connector:
        break
    os.kill(other, signal.SIGKILL)
    os.waitpid(other, 0)
stat = open(f"/proc/{other}/stat").read()
hello = bytearray.fromhex(hello)
struct.pack_into("<I", hello, int(pid), other)
struct.pack_into("<Q", hello, int(start), int(stat[stat.rindex(")") + 2:].split()[19]))
one = socket.socket(fileno=connection)
one.send(hello)
answer = one.recv(4096)
os.kill(other, signal.SIGKILL)
sys.stdout.buffer.write(answer)
`;

/** Sends one message with as many descriptors as the kernel lets through, and waits for the end of the connection. */
const DESCRIPTORS = `
import socket, sys
one = socket.socket(socket.AF_UNIX)
one.connect(sys.argv[1])
socket.send_fds(one, [b"x" * 16], [sys.stdin.fileno()] * 253)
while one.recv(4096):
    pass
`;

/**
 * A service of another user gets its protection and ends with its results intact. Where attackers take the CPUs, too,
 * the agent may answer late: then the client says so and asks again. Any other line of ours fails.
 */
async function isServed({
  machine,
  load,
}: Awaited<ReturnType<typeof sharedMachine>>): Promise<void> {
  const high = load(HIGH_UID, "high", service);
  await high.said("load: serving");
  const client = async () => (await machine.status()).gpus[0]?.high[0];
  await eventually("it is protected", async () => (await client()) !== undefined);
  process.kill((await client())?.pid ?? 0, "SIGTERM");
  const { status, stdout, stderr } = await high.ended;
  const lines = withoutLate(stderr).match(/^cotenant: .*/gm);
  expect({ status, lines }).toEqual({ status: 0, lines: null });
  expect(JSON.parse(stdout)).toMatchObject({ intact: true });
}

test.skipIf(!allowed)("a user who floods the socket keeps no other from being served", async () => {
  const shared = await sharedMachine();
  const { machine, program } = shared;
  const { sharedSocket: socket } = pathsIn(machine.directory);
  const floods = [1, 2].map(() => program(OTHER_UID, python, "-c", FLOOD, socket));
  for (const flood of floods) await flood.said("flooding");
  await isServed(shared);
  await Promise.all(floods.map((flood) => flood.said("10000 connections")));
  for (const flood of floods) flood.signal("SIGKILL");
  for (const { ended } of floods) await ended;
  const { residentBytes } = (await machine.status()).agent;
  expect(residentBytes).toBeLessThan(2 ** 30);
});

test.skipIf(!allowed)(
  "a user who forks without an end keeps no other from being served",
  async () => {
    const shared = await sharedMachine();
    const { machine, program } = shared;
    const { sharedSocket: socket } = pathsIn(machine.directory);
    const hello = Buffer.from(helloBytes({ class: "best-effort", gpu: SOFT_GPU })).toString("hex");
    const places = [Hello.offsets.pid, Hello.offsets.startTime].map(String);
    const bomb = program(OTHER_UID, python, "-c", FORKS, socket, hello, ...places);
    await bomb.said("forked 500 times");
    await isServed(shared);
    bomb.signal("SIGKILL");
    await bomb.ended;
    await eventually("its slots are free", async () =>
      (await machine.status()).gpus.every(({ bestEffort }) => bestEffort.length === 0),
    );
    expect((await machine.status()).agent.residentBytes).toBeLessThan(2 ** 30);
  },
);

test.skipIf(!allowed)(
  "a user who comes back thousands of times keeps no other from being served",
  async () => {
    const shared = await sharedMachine();
    const { machine, program } = shared;
    const { sharedSocket: socket } = pathsIn(machine.directory);
    const { pid, startTime, slot } = Hello.offsets;
    const hello = helloBytes({ kind: "reattach", class: "best-effort", gpu: SOFT_GPU });
    const places = [pid, startTime, slot, BestEffortSlot.size, Region.fields.holds.struct.size].map(
      String,
    );
    const words = [socket, Buffer.from(hello).toString("hex"), ...places];
    const floods = [1, 2].map(() => program(OTHER_UID, python, "-c", RETURNS, ...words));
    for (const flood of floods) await flood.said("came back 1000 times");
    await isServed(shared);
    for (const flood of floods) await flood.said("came back 3000 times");
    for (const flood of floods) flood.signal("SIGKILL");
    for (const { ended } of floods) await ended;
    const { agent } = await machine.status();
    expect(agent.residentBytes).toBeLessThan(2 ** 30);
    expect(statSync(pathsIn(machine.directory).log).size).toBeLessThan(2 ** 18);
    await eventually("its slots are free", async () =>
      (await machine.status()).gpus.every(({ bestEffort }) => bestEffort.length === 0),
    );
  },
);

const [major = 0, minor = 0] = release().split(".").map(Number);
const tellsOfConnectors =
  existsSync("/proc/sys/kernel/ns_last_pid") && (major > 6 || (major === 6 && minor >= 5));
if (!tellsOfConnectors)
  console.error("SKIPPED: a pid given to another process, because this kernel is older than 6.5.");

test.skipIf(!allowed || !tellsOfConnectors)(
  "a pid that the kernel gave to another process speaks for nobody",
  async () => {
    const { machine } = await sharedMachine();
    const { sharedSocket: socket } = pathsIn(machine.directory);
    const hello = Buffer.from(helloBytes({ class: "best-effort", gpu: SOFT_GPU })).toString("hex");
    const places = [Hello.offsets.pid, Hello.offsets.startTime].map(String);
    const { stdout } = await machine.elsewhere([python, "-c", REUSES, socket, hello, ...places])
      .ended;
    expect(stdout).toMatch(/Process \d+, which had connected, has ended\./);
  },
);

test.skipIf(!allowed)("descriptors that nobody asked for are not kept", async () => {
  const { machine, program } = await sharedMachine();
  const { pid } = machine.agent();
  const open = () => readdirSync(`/proc/${pid}/fd`).length;
  const before = open();
  const { sharedSocket: socket } = pathsIn(machine.directory);
  for (let i = 0; i < 20; i++)
    expect((await program(OTHER_UID, python, "-c", DESCRIPTORS, socket).ended).status).toBe(0);
  await expect.poll(open, { timeout: 60_000 }).toBeLessThanOrEqual(before + 1);
});

test.skipIf(!allowed)("a user reads and opens nothing of the agent's or of others'", async () => {
  const { machine, program, load } = await sharedMachine();
  const client = load(HIGH_UID, "high", service);
  await client.said("load: serving");
  const { pid } = machine.agent();
  const { file, log, lock } = pathsIn(machine.directory);
  const [high] = (await machine.status()).gpus.flatMap((gpu) => gpu.high);
  for (const path of [file, log, lock])
    expect((await program(OTHER_UID, "cat", path).ended).stderr).toContain("Permission denied");
  for (const write of [machine.directory, pathsIn(machine.directory).sharedSocket])
    expect((await program(OTHER_UID, "rm", "-rf", write).ended).status).not.toBe(0);
  // In its own PID namespace it sees neither; here it may look, and finds closed doors.
  const own = ["setpriv", `--reuid=${OTHER_UID}`, `--regid=${OTHER_UID}`, "--clear-groups"];
  for (const target of [pid, high?.pid])
    for (const what of ["fd", "map_files", "mem"]) {
      const { status } = await machine.elsewhere([
        ...own,
        "sh",
        "-c",
        `ls /proc/${target}/${what}/ || cat /proc/${target}/${what}`,
      ]).ended;
      expect(status).not.toBe(0);
    }
  client.signal("SIGKILL");
});

test.skipIf(!allowed)(
  "the library is not loaded into programs with other rights than their user's",
  async () => {
    const { at, program } = await sharedMachine();
    const plain = join(tmpdir(), `cotenant-maps-${process.pid}`);
    copyFileSync("/bin/cat", plain);
    onTestFinished(() => rmSync(plain, { force: true }));
    const environment = [
      `LD_PRELOAD=${at}/build/native/libcotenant.so`,
      "COTENANT_CLASS=high",
      `COTENANT_RECORD=${tmpdir()}/cotenant-record`,
    ];
    const maps = async () =>
      (await program(OTHER_UID, "env", ...environment, plain, "/proc/self/maps").ended).stdout;
    chmodSync(plain, 0o755);
    expect(await maps()).toContain("libcotenant.so");
    chmodSync(plain, 0o4755); // of root, so it runs as root
    const privileged = await maps();
    expect(privileged).toContain("cotenant-maps");
    expect(privileged).not.toContain("libcotenant.so");
  },
);
