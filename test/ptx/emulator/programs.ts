// Random kernels whose meaning does not depend on timing: barriers and shuffles only where all threads of a
// block come, early exits and loops of different lengths everywhere.
import fc from "fast-check";
import { DeviceMemory } from "#emulator";
import { parse } from "#ptx";
import { type Case, withVariants } from "./differential.ts";

const REGISTERS = 6;
const THREADS = 64;
const GRID = [2, 3, 1] as const;
const BLOCKS = GRID[0] * GRID[1] * GRID[2];

type Statement =
  | {
      readonly kind: "op";
      readonly op: string;
      readonly d: number;
      readonly a: number;
      readonly b: number;
    }
  /** Lanes whose register is odd. */
  | { readonly kind: "if"; readonly a: number; readonly yes: readonly Statement[] }
  /** As often as the register's low bits say. */
  | { readonly kind: "repeat"; readonly a: number; readonly body: readonly Statement[] }
  | { readonly kind: "exit"; readonly a: number; readonly value: number }
  | { readonly kind: "count"; readonly a: number }
  /** By the block's number. */
  | {
      readonly kind: "blocks";
      readonly bit: number;
      readonly yes: readonly Statement[];
      readonly no: readonly Statement[];
    }
  | { readonly kind: "loop"; readonly times: number; readonly body: readonly Statement[] }
  | { readonly kind: "exchange"; readonly d: number; readonly a: number; readonly by: number }
  | {
      readonly kind: "shuffle";
      readonly mode: string;
      readonly d: number;
      readonly a: number;
      readonly by: number;
    }
  | { readonly kind: "vote"; readonly d: number; readonly a: number };

const register = fc.nat({ max: REGISTERS - 1 });
const op = fc.record({
  kind: fc.constant("op" as const),
  op: fc.constantFrom(
    "add.u32",
    "sub.u32",
    "xor.b32",
    "mul.lo.u32",
    "min.s32",
    "shr.u32",
    "and.b32",
  ),
  d: register,
  a: register,
  b: register,
});

const { together } = fc.letrec<{ apart: Statement; together: Statement }>((tie) => ({
  /** Where lanes may have gone different ways. */
  apart: fc.oneof(
    { depthSize: "small", maxDepth: 3 },
    op,
    fc.record({ kind: fc.constant("count" as const), a: register }),
    fc.record({ kind: fc.constant("exit" as const), a: register, value: fc.nat({ max: 15 }) }),
    fc.record({
      kind: fc.constant("if" as const),
      a: register,
      yes: fc.array(tie("apart"), { maxLength: 3 }),
    }),
    fc.record({
      kind: fc.constant("repeat" as const),
      a: register,
      body: fc.array(tie("apart"), { maxLength: 3 }),
    }),
  ),
  /** Where all threads of the block come. */
  together: fc.oneof(
    { depthSize: "small", maxDepth: 3 },
    tie("apart"),
    fc.record({
      kind: fc.constant("exchange" as const),
      d: register,
      a: register,
      by: fc.nat({ max: THREADS - 1 }),
    }),
    fc.record({
      kind: fc.constant("shuffle" as const),
      mode: fc.constantFrom("up", "down", "bfly", "idx"),
      d: register,
      a: register,
      by: fc.nat({ max: 31 }),
    }),
    fc.record({ kind: fc.constant("vote" as const), d: register, a: register }),
    fc.record({
      kind: fc.constant("blocks" as const),
      bit: fc.nat({ max: 2 }),
      yes: fc.array(tie("together"), { maxLength: 3 }),
      no: fc.array(tie("together"), { maxLength: 2 }),
    }),
    fc.record({
      kind: fc.constant("loop" as const),
      times: fc.integer({ min: 1, max: 3 }),
      body: fc.array(tie("together"), { maxLength: 3 }),
    }),
  ),
}));

/** Shuffles name all lanes: with early exits before them they would read lanes that are gone. */
function withoutExits(all: readonly Statement[]): readonly Statement[] {
  return all.flatMap((one): readonly Statement[] => {
    switch (one.kind) {
      case "exit":
        return [];
      case "if":
      case "blocks":
        return [
          {
            ...one,
            yes: withoutExits(one.yes),
            ...(one.kind === "blocks" ? { no: withoutExits(one.no) } : {}),
          },
        ];
      case "repeat":
      case "loop":
        return [{ ...one, body: withoutExits(one.body) }];
      default:
        return [one];
    }
  });
}

function withoutLanes(all: readonly Statement[]): readonly Statement[] {
  return all.flatMap((one): readonly Statement[] => {
    if (one.kind === "shuffle" || one.kind === "vote") return [];
    if (one.kind === "blocks")
      return [{ ...one, yes: withoutLanes(one.yes), no: withoutLanes(one.no) }];
    return one.kind === "loop" ? [{ ...one, body: withoutLanes(one.body) }] : [one];
  });
}

/** Either with early exits or with what warps do together. */
export const program = fc
  .tuple(fc.array(together, { minLength: 1, maxLength: 8 }), fc.boolean())
  .map(([all, exits]) => (exits ? withoutLanes(all) : withoutExits(all)));

function text(all: readonly Statement[]): string {
  let fresh = 0;
  const lines = (body: readonly Statement[]): string => body.map(line).join("\n");
  const line = (one: Statement): string => {
    const n = fresh++;
    switch (one.kind) {
      case "op": {
        const b = one.op === "shr.u32" ? `${one.b}` : `%r${one.b}`;
        return `${one.op} %r${one.d}, %r${one.a}, ${b};`;
      }
      case "if":
        return `and.b32 %t0, %r${one.a}, 1; setp.eq.u32 %p0, %t0, 0;
@%p0 bra L${n};
${lines(one.yes)}
L${n}:`;
      case "repeat":
        return `{ .reg .b32 %left; .reg .pred %more;
and.b32 %left, %r${one.a}, 3;
T${n}: setp.eq.u32 %more, %left, 0;
@%more bra L${n};
sub.u32 %left, %left, 1;
${lines(one.body)}
bra T${n};
L${n}: }`;
      case "exit":
        return `and.b32 %t0, %r${one.a}, 15; setp.eq.u32 %p0, %t0, ${one.value};
@%p0 ret;`;
      case "count":
        return `and.b32 %t0, %r${one.a}, 15; red.global.add.u32 [%rd2], %t0;`;
      case "blocks":
        return `shr.u32 %t0, %block, ${one.bit}; and.b32 %t0, %t0, 1; setp.eq.u32 %p0, %t0, 0;
@%p0 bra E${n};
${lines(one.yes)}
bra L${n};
E${n}:
${lines(one.no)}
L${n}:`;
      case "loop":
        return `{ .reg .b32 %left; .reg .pred %more;
mov.u32 %left, ${one.times};
T${n}:
${lines(one.body)}
sub.u32 %left, %left, 1;
setp.ne.u32 %more, %left, 0;
@%more bra T${n};
}`;
      case "exchange":
        return `st.shared.u32 [%mine], %r${one.a};
bar.sync 0;
add.u32 %t0, %thread, ${one.by}; and.b32 %t0, %t0, ${THREADS - 1}; shl.b32 %t0, %t0, 2;
mov.u32 %t1, line; add.u32 %t0, %t0, %t1;
ld.shared.u32 %r${one.d}, [%t0];
bar.sync 0;`;
      case "shuffle":
        return `shfl.sync.${one.mode}.b32 %r${one.d}, %r${one.a}, ${one.by}, ${one.mode === "up" ? 0 : 31}, -1;`;
      case "vote":
        return `and.b32 %t0, %r${one.a}, 1; setp.eq.u32 %p0, %t0, 1; vote.sync.ballot.b32 %r${one.d}, %p0, -1;`;
    }
  };
  const body = lines(all);
  const starts = Array.from(
    { length: REGISTERS },
    (_, i) =>
      `mul.lo.u32 %r${i}, %global, ${2654435761 + 40503 * i}; shr.u32 %t0, %r${i}, 15; xor.b32 %r${i}, %r${i}, %t0;`,
  );
  const ends = Array.from(
    { length: REGISTERS },
    (_, i) => `st.global.u32 [%rd3+${4 * i}], %r${i};`,
  );
  return `.version 8.7
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p0, .param .u64 p1) {
.reg .u64 %rd<6>; .reg .b32 %r<${REGISTERS}>; .reg .b32 %t<2>; .reg .pred %p<1>;
.reg .b32 %thread, %block, %global, %mine;
.shared .align 4 .b8 line[${4 * THREADS}];
ld.param.u64 %rd1, [p0]; ld.param.u64 %rd2, [p1];
mov.u32 %thread, %tid.x;
mov.u32 %t0, %nctaid.x; mov.u32 %t1, %ctaid.y; mov.u32 %block, %ctaid.x; mad.lo.u32 %block, %t0, %t1, %block;
mad.lo.u32 %global, %block, ${THREADS}, %thread;
mul.wide.u32 %rd3, %global, ${4 * REGISTERS}; add.u64 %rd3, %rd3, %rd1;
shl.b32 %mine, %thread, 2; mov.u32 %t0, line; add.u32 %mine, %mine, %t0;
st.shared.u32 [%mine], %thread;
bar.sync 0;
${starts.join("\n")}
${body}
${ends.join("\n")}
ret;
}
`;
}

/** The kernel, for a counterexample, and how to run it. */
export function caseOf(statements: readonly Statement[]): {
  readonly source: string;
  readonly run: Case;
} {
  const source = text(statements);
  const bytes = BLOCKS * THREADS * REGISTERS * 4;
  return {
    source,
    run: {
      module: withVariants(parse(source)),
      kernel: "k",
      grid: GRID,
      block: [THREADS, 1, 1],
      fresh() {
        const memory = new DeviceMemory();
        const args = [memory.allocate(bytes), memory.allocate(4)];
        return {
          memory,
          args,
          contents: () => args.map((address, i) => memory.read(address, i === 0 ? bytes : 4)),
        };
      },
    },
  };
}
