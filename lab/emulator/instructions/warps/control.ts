// Branches, calls, returns and exits.
import type { Operand } from "#ptx";
import { KernelError, trapped } from "../../machine/errors.ts";
import { FUNCTION_WINDOW } from "../../machine/memory.ts";
import { REGROUP, type Return, type Warp } from "../../machine/warp.ts";
import { byteSize } from "../layout.ts";
import type { Compile, Meaning, Routine, Site } from "../site.ts";
import { printLine } from "./printing.ts";

const bra: Compile = (site) => {
  const operand = site.operand(0);
  if (operand.kind !== "name") return site.fail("its target is no label");
  const to = site.target(operand.name);
  return { control: () => to };
};

/** Each lane goes to the target with its index. PTX does not define an index beyond the list. */
const brx: Compile = (site) => {
  const index = site.read(site.operand(0), "u32");
  const list = site.operand(1);
  if (list.kind !== "name") return site.fail("its targets are no list");
  const targets = site.targetsIn(list.name);
  return {
    control: (w) => {
      const { lanes, n } = w;
      for (let k = 0; k < n; k++) {
        const l = lanes[k] as number;
        const to = targets[w.u32[index + l] as number];
        if (to === undefined)
          throw new KernelError("PTX_BAD_BRANCH", "its number is not in the list of targets", l);
        w.pcs[l] = to;
      }
      return REGROUP;
    },
  };
};

/** The current group returns from its function, or exits the kernel. */
function leave(w: Warp): number {
  const { lanes, n } = w;
  if ((w.stacks[lanes[0] as number] as Return[]).length === 0) {
    w.exit();
    return REGROUP;
  }
  for (let k = 0; k < n; k++) {
    const l = lanes[k] as number;
    const back = (w.stacks[l] as Return[]).pop() as Return;
    back.finish(w, l, w.frames[l] as number);
    w.frames[l] = back.frame;
    w.pcs[l] = back.pc;
  }
  return REGROUP;
}

const ret: Compile = () => ({ control: leave });

const exit: Compile = () => ({
  control: (w) => {
    w.exit();
    return REGROUP;
  },
});

const trap: Compile = () => ({
  control: (w) => {
    throw trapped(w.lanes[0] as number);
  },
});

const names = (operand: Operand | undefined): readonly string[] =>
  operand?.kind === "list"
    ? operand.elements.map((one) => (one.kind === "name" ? one.name : ""))
    : [];

/** `call (results), callee, (arguments), prototype;`: results and arguments are .param variables. */
const call: Compile = (site) => {
  const { operands } = site;
  const first = operands[0];
  const results = first?.kind === "list" ? names(first) : [];
  const rest = first?.kind === "list" ? operands.slice(1) : operands;
  const callee = rest[0];
  if (callee?.kind !== "name") return site.fail("its callee is no name");
  const given = names(rest[1]);
  const direct = site.callee(callee.name);
  const frame = site.routine.frame;
  if (direct !== undefined) return callOf(site, () => direct, results, given);
  if (callee.name.startsWith("%")) {
    const target = site.read(callee, "u64");
    site.everyFunction();
    return callOf(
      site,
      (w, l) => {
        const routine = site.routineAt(w.u32[target + 2 * l] as number);
        if (routine === undefined || w.u32[target + 2 * l + 1] !== FUNCTION_WINDOW)
          throw new KernelError("PTX_BAD_CALL", "the address called is no function", l);
        return routine;
      },
      results,
      given,
    );
  }
  const at = given.map((name) => site.frameOffset(name).offset);
  const into = results.map((name) => site.frameOffset(name));
  if (callee.name === "vprintf")
    return (w, lanes, n) => {
      w.ensureLocal(frame.bytes, lanes[0] as number);
      for (let k = 0; k < n; k++) {
        const l = lanes[k] as number;
        const base = l * w.localBytes + (w.frames[l] as number);
        printLine(
          w,
          l,
          at.map((offset) => w.local.u64[(base + offset) >> 3] as bigint),
        );
        for (const { offset } of into) w.local.i32[(base + offset) >> 2] = 1;
      }
    };
  if (callee.name === "__assertfail")
    return (_w, lanes) => {
      throw new KernelError("PTX_TRAP", "an assertion failed", lanes[0]);
    };
  return site.fail(`the function ${callee.name} has no body here`);
};

function callOf(
  site: Site,
  find: (w: Warp, lane: number) => Routine,
  results: readonly string[],
  given: readonly string[],
): Meaning {
  const { routine: caller, pc } = site;
  const from = given.map((name) => site.frameOffset(name));
  const into = results.map((name) => site.frameOffset(name));
  const copyIn = (w: Warp, l: number, frame: number, callee: Routine): void => {
    const base = l * w.localBytes;
    callee.func.params.forEach((param, i) => {
      const source = from[i];
      const declarator = param.names[0];
      if (source === undefined || declarator === undefined) return;
      const to = base + frame + callee.frame.offsetOf(declarator);
      const bytes = byteSize({ variable: param, declarator });
      const start = base + (w.frames[l] as number) + source.offset;
      w.local.u8.copyWithin(to, start, start + bytes);
    });
  };
  return {
    control: (w) => {
      const { lanes, n } = w;
      for (let k = 0; k < n; k++) {
        const l = lanes[k] as number;
        const callee = find(w, l);
        if (callee.func.params.some(({ space }) => space !== "param"))
          throw new KernelError("PTX_NOT_EMULATED", "parameters in registers", l);
        const own = w.frames[l] as number;
        // Frames are aligned for the widest access.
        const frame = own + Math.ceil(caller.frame.bytes / 16) * 16;
        w.ensureLocal(frame + callee.frame.bytes, l);
        copyIn(w, l, frame, callee);
        const saved = saveRegisters(w, l, callee);
        const finish = (warp: Warp, lane: number, calleeFrame: number): void => {
          if (saved !== undefined) restoreRegisters(warp, lane, callee, saved);
          const base = lane * warp.localBytes;
          callee.func.returns.forEach((result, i) => {
            const target = into[i];
            const declarator = result.names[0];
            if (target === undefined || declarator === undefined) return;
            const start = base + calleeFrame + callee.frame.offsetOf(declarator);
            const bytes = byteSize({ variable: result, declarator });
            warp.local.u8.copyWithin(base + own + target.offset, start, start + bytes);
          });
        };
        (w.stacks[l] as Return[]).push({ pc: pc + 1, frame: own, finish });
        w.frames[l] = frame;
        w.pcs[l] = callee.entry;
      }
      return REGROUP;
    },
  };
}

/** Saves a lane's registers of a recursive function. */
function saveRegisters(
  w: Warp,
  lane: number,
  { recursive, slots }: Routine,
): Int32Array | undefined {
  if (!recursive) return undefined;
  const saved: number[] = [];
  for (const { slot, words } of slots)
    for (let i = 0; i < words; i++) saved.push(w.i32[slot + lane * words + i] as number);
  return Int32Array.from(saved);
}

function restoreRegisters(w: Warp, lane: number, { slots }: Routine, saved: Int32Array): void {
  let at = 0;
  for (const { slot, words } of slots)
    for (let i = 0; i < words; i++) w.i32[slot + lane * words + i] = saved[at++] as number;
}

export const control: Readonly<Record<string, Compile>> = {
  bra,
  brx,
  ret,
  exit,
  trap,
  brkpt: trap,
  call,
};
