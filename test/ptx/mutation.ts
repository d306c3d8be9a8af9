// PTX that has been damaged, for tests: seeds that use every corner of the grammar, with pieces taken out, put
// in, doubled and exchanged.
import fc from "fast-check";

export const seeds: readonly string[] = [
  `// a comment
.version 9.0
.target sm_90a, texmode_independent
.address_size 64

	.file	1 "a.cu"
.extern .func  (.param .b32 r) vprintf
(
	.param .b64 a,
	.param .b64 b
)
;
.visible .global .align 4 .b8 msg[3] = {37, 100, 0};
.extern .shared .align 16 .b8 smem[];

.visible .entry k(
	.param .u64 .ptr .global .align 1 k_param_0, /* the first */
	.param .align 8 .b8 k_param_1[16]
)
.maxntid 128, 1, 1
.pragma "nounroll";
{
	.reg .pred 	%p<3>;
	.reg .b32 	%r<9>;
	.reg .b64 	%rd<5>;
	.shared .align 4 .b8 tile[128];
	.loc	1 3 7, function_name $L__str0, inlined_at 1 9 1
	ld.param.u64 	%rd1, [k_param_0];;
	mov.u32 	%r1, %tid.x;
	setp.ge.and.s32 	%p1|%p2, %r1, 16, !%p1;
	@%p1 bra 	$L__BB0_2;
	{ // a call
	.reg .b32 temp;
	.param .b64 param0;
	st.param.b64 	[param0+0], %rd1;
	call.uni (r0),
	vprintf,
	(
	param0
	);
	}
	mad.wide.s32 %rd2, %r1, 4, %rd1;
	atom.global.add.f32 _, [%rd2+-8], 0f3F800000;
$L__BB0_2:
	bar.sync 	0;
	@!%p2 st.shared.v2.u32 [tile+8], {%r1, %r2};
	brx.idx %r1, targets;
targets: .branchtargets $L__BB0_2, $L__BB0_3;
$L__BB0_3: ret;
}
	.section	.debug_abbrev
	{
.b8 1                                   // Abbreviation Code
.b8 17
	}
	.section	.debug_macinfo	{	}
`,
  `.version 6.5
.target sm_70
.weak .func (.reg .f64 %fd0) f (.reg .f64 %fd1) .noreturn
{
	add.rn.f64 %fd0, %fd1, 0d3FF0000000000000;
	tex.1d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [img, smp, {%r0}];
	mov.b32 %r0, (1 << 3) + 2;
	@p { exit; }
}
`.replace("@p { exit; }", "@p exit;"),
];

/** Pieces that mean something to the parser. */
const pieces =
  `{ } ( ) [ ] < > ; , : :: . .. .reg .param .entry .func .global .section .loc .pragma .align // /* */ "
  @ ! | + - = 0 0x 1e 0f %p %r1 _ call bra ret mov.u32 $L__BB0_2`
    .split(/\s+/)
    .concat("\n", " ", "\0", "\u2028", "é");

interface Cut {
  readonly at: number;
  readonly length: number;
  readonly put: string;
  readonly copyFrom: number | undefined;
}

const cut: fc.Arbitrary<Cut> = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  length: fc.nat({ max: 12 }),
  put: fc.oneof(fc.constantFrom(...pieces), fc.constant(""), fc.string({ maxLength: 4 })),
  copyFrom: fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { nil: undefined }),
});

export const mutated: fc.Arbitrary<string> = fc
  .tuple(fc.constantFrom(...seeds), fc.array(cut, { minLength: 1, maxLength: 6 }))
  .map(([seed, cuts]) => cuts.reduce(apply, seed));

/** The same damage from plain chance, quick enough for millions; `random` gives numbers from 0 to below 1. */
export function damage(random: () => number): string {
  const whole = (below: number) => Math.floor(random() * below);
  const cuts = Array.from({ length: 1 + whole(3) }, () => ({
    at: random(),
    length: whole(13),
    put: pieces[whole(pieces.length * 2)] ?? "",
    copyFrom: random() < 0.5 ? random() : undefined,
  }));
  return cuts.reduce(apply, seeds[whole(seeds.length)] ?? "");
}

function apply(text: string, { at, length, put, copyFrom }: Cut): string {
  const from = Math.floor(at * text.length);
  const source = Math.floor((copyFrom ?? 0) * text.length);
  const copy = copyFrom === undefined ? "" : text.slice(source, source + 20);
  return text.slice(0, from) + put + copy + text.slice(from + length);
}
