import { accessSync, closeSync, constants, openSync, readSync, statSync } from "node:fs";
import { basename, resolve } from "node:path";
import { errors } from "#core";

type Variables = Readonly<Record<string, string | undefined>>;

/** Throws a UserError that says why there is no such file. `cwd`: the folder of the caller. */
export function findProgram(name: string, env: Variables, cwd = "."): string {
  const paths = name.includes("/")
    ? [resolve(cwd, name)]
    : (env.PATH ?? "/usr/bin:/bin").split(":").map((folder) => resolve(cwd, folder, name));
  const reasons = paths.map((path) => whyNotRun(path));
  const found = paths.find((_, i) => reasons[i] === undefined);
  if (found !== undefined) return found;
  throw errors.cannotExecute(name, reasons.find((reason) => reason !== "ENOENT") ?? "ENOENT");
}

function whyNotRun(path: string): string | undefined {
  try {
    if (!statSync(path).isFile()) return "EISDIR";
    accessSync(path, constants.X_OK);
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? "EACCES";
  }
}

interface Dropper {
  readonly says: string;
  readonly verbs?: readonly string[]; // undefined: it always starts programs
}

const container: Dropper = {
  says: "passes nothing of Cotenant into its containers: give the container a class (docs/guide/containers.md).",
  verbs: ["run", "exec", "create", "start", "compose", "container"],
};
const otherUser: Dropper = { says: "drops LD_PRELOAD: put it in front of cotenant run." };

/** Such a program starts others without its own environment, or as another user. */
const droppers: Readonly<Record<string, Dropper>> = {
  docker: container,
  podman: container,
  nerdctl: container,
  kubectl: {
    says: "starts programs on other machines: give the pod a class (docs/guide/kubernetes.md).",
    verbs: ["run", "exec", "create", "apply", "debug"],
  },
  ssh: { says: "starts programs on other machines: put cotenant run behind it." },
  sudo: otherUser,
  doas: otherUser,
  su: otherUser,
  runuser: otherUser,
  pkexec: otherUser,
};

export function whyNotPreloaded(
  words: readonly string[],
  path: string,
  env: Variables,
): string | undefined {
  const [program = "", ...args] = words;
  const name = basename(program);
  const dropper = Object.hasOwn(droppers, name) ? droppers[name] : undefined;
  if (dropper && (dropper.verbs?.some((verb) => args.includes(verb)) ?? true))
    return `"${name}" ${dropper.says}`;
  if (name === "env" && clearsEnvironment(args)) return `"env ${args[0]}" ${otherUser.says}`;
  if (name === "setpriv" && args.some((word) => /^--(re|e|r)uid\b/.test(word)))
    return `"setpriv" changes the user, whom the agent of this one does not serve: put it in front of cotenant run.`;
  return whyNotLoaded(name, path, env);
}

const clearsEnvironment = ([word = ""]: readonly string[]) =>
  word === "-" || /^-[a-zA-Z]*i/.test(word) || word === "--ignore-environment";

const ELF = 0x464c457f;
const PT_INTERP = 3;

function whyNotLoaded(name: string, path: string, env: Variables): string | undefined {
  const head = headOf(path);
  if (head === undefined || head.length < 64 || head.readUInt32LE(0) !== ELF || head[4] !== 2)
    return undefined;
  const loader = loaderIn(head);
  // The launcher is static, too: the programs that it starts are not.
  if (loader === "" && name !== "cotenant")
    return `"${name}" is linked statically: Cotenant gets into no such program, only into those that it starts.`;
  if (loader?.includes("/ld-musl"))
    return `"${name}" uses the C library musl, into which Cotenant's library can't be loaded: build it with glibc.`;
  if (/libasan\.so|libclang_rt\.asan/.test(head.toString("latin1")) && !isLenient(env))
    return `"${name}" is built with AddressSanitizer, which wants to be the first library: set ASAN_OPTIONS=verify_asan_link_order=0.`;
  return undefined;
}

const isLenient = ({ ASAN_OPTIONS: options = "" }: Variables) =>
  options.includes("verify_asan_link_order=0");

/** Empty if the program needs no loader; undefined if the head does not tell. */
function loaderIn(head: Buffer): string | undefined {
  const at = Number(head.readBigUInt64LE(32));
  const [size, count] = [head.readUInt16LE(54), head.readUInt16LE(56)];
  if (count === 0 || at + count * size > head.length) return undefined;
  const entry = Array.from({ length: count }, (_, i) => at + i * size).find(
    (place) => head.readUInt32LE(place) === PT_INTERP,
  );
  if (entry === undefined) return "";
  const start = Number(head.readBigUInt64LE(entry + 8));
  const end = head.indexOf(0, start);
  return end < 0 ? undefined : head.subarray(start, end).toString();
}

const HEAD_BYTES = 65_536;

function headOf(path: string): Buffer | undefined {
  try {
    const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const bytes = Buffer.alloc(HEAD_BYTES);
      return bytes.subarray(0, readSync(fd, bytes, 0, HEAD_BYTES, 0));
    } finally {
      closeSync(fd);
    }
  } catch {
    return undefined;
  }
}
