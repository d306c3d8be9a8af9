// Each launch adds 1 to every word of `state`, so a lost, doubled or cut launch is found. The
// software GPU reads a line `//! soft …`: how many ns a kernel takes on how many SMs, and how the
// words of the first block change.

/** With the registers they use, one block of this many threads fills an SM. */
export const blockThreads = 1024;

/** A word is a float: adding 1 to this number changes nothing. */
export const lastCount = 2 ** 24;

// Independent chains use so many registers that an SM has no room for a second block.
const chains = 40;

// Loads of 16 bytes in flight keep the memory busy with one block on each SM, and take the
// registers that a second block would need.
const loads = 6;
const elementsShift = 12;

export type KernelName = "compute" | "memory";

export const entryPoint: Readonly<Record<KernelName, string>> = {
  compute: "cotenant_load_compute",
  memory: "cotenant_load_memory",
};

const lines = (count: number, line: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => line(i)).join("\n");

const entry = (name: KernelName, softNs: string, body: string): string => `
//! soft ns=${softNs} sms=p4 effect=fma(p0,${blockThreads},0x3f800000)
.visible .entry ${entryPoint[name]}(
  .param .u64 state, .param .u32 iterations, .param .u64 buffer, .param .u32 mask, .param .u32 sms)
.maxntid ${blockThreads}, 1, 1
{
  .reg .pred %p;
  .reg .b32 %id, %block, %threads, %blocks, %n;
  .reg .f32 %word, %one;
  .reg .b64 %state, %at;
  mov.u32 %id, %tid.x;
  mov.u32 %block, %ctaid.x;
  mov.u32 %threads, %ntid.x;
  mov.u32 %blocks, %nctaid.x;
  mad.lo.u32 %id, %block, %threads, %id;
  mov.f32 %one, 0f3F800000;
  ld.param.u32 %n, [iterations];
${body}
  ld.param.u64 %state, [state];
  cvta.to.global.u64 %state, %state;
  mad.wide.u32 %at, %id, 4, %state;
  ld.global.f32 %word, [%at];
  add.f32 %word, %word, %one;
  st.global.f32 [%at], %word;
  ret;
}
`;

// x = 0.999 x + 0.001: every chain stays positive, so the sum is never -1 and the kernel always
// adds 1. The compiler can't know this.
const compute = entry(
  "compute",
  "p1*170/1",
  `  .reg .f32 %x<${chains}>, %first, %a, %b;
  cvt.rn.f32.u32 %first, %id;
${lines(chains, (i) => `  add.f32 %x${i}, %first, 0f${(0x3f800000 + i * 0x10000).toString(16).toUpperCase()};`)}
  mov.f32 %a, 0f3F7FBE77;
  mov.f32 %b, 0f3A83126F;
LOOP:
  setp.eq.u32 %p, %n, 0;
  @%p bra DONE;
${lines(chains, (i) => `  fma.rn.f32 %x${i}, %x${i}, %a, %b;`)}
  sub.u32 %n, %n, 1;
  bra LOOP;
DONE:
${lines(chains - 1, (i) => `  add.f32 %x0, %x0, %x${i + 1};`)}
  setp.eq.f32 %p, %x0, 0fBF800000;
  @%p add.f32 %one, %one, %one;`,
);

const memory = entry(
  "memory",
  "p1*32/1",
  `  .reg .pred %q<${loads}>;
  .reg .b32 %mask, %slot, %v<${loads * 4}>;
  .reg .b64 %total, %stride, %buffer, %e<${loads}>, %from<${loads}>;
  ld.param.u64 %buffer, [buffer];
  cvta.to.global.u64 %buffer, %buffer;
  ld.param.u32 %mask, [mask];
  mul.wide.u32 %stride, %threads, %blocks;
  cvt.u64.u32 %total, %n;
  shl.b64 %total, %total, ${elementsShift};
  cvt.u64.u32 %e0, %id;
LOOP:
  setp.ge.u64 %p, %e0, %total;
  @%p bra DONE;
${lines(loads - 1, (i) => `  add.u64 %e${i + 1}, %e${i}, %stride;`)}
${lines(loads, load)}
${lines(loads * 4, (i) => `  @%q${i >> 2} add.u32 %v${i}, %v${i}, %id;`)}
${lines(loads, (i) => `  @%q${i} st.global.v4.u32 [%from${i}], {${words(i)}};`)}
  add.u64 %e0, %e${loads - 1}, %stride;
  bra LOOP;
DONE:`,
);

function load(i: number): string {
  return `  setp.lt.u64 %q${i}, %e${i}, %total;
  cvt.u32.u64 %slot, %e${i};
  and.b32 %slot, %slot, %mask;
  mad.wide.u32 %from${i}, %slot, 16, %buffer;
  @%q${i} ld.global.v4.u32 {${words(i)}}, [%from${i}];`;
}

function words(load: number): string {
  return Array.from({ length: 4 }, (_, i) => `%v${load * 4 + i}`).join(", ");
}

export const ptx = `.version 7.8
.target sm_70
.address_size 64
${compute}${memory}`;
