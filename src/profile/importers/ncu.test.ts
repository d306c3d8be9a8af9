import { describe, expect, test } from "vitest";
import { importNcu, type NcuAbout } from "./ncu.ts";

const about: NcuAbout = {
  name: "saxpy",
  kind: "inference",
  file: "saxpy.csv",
  source: "ncu --csv --page raw ./saxpy",
  gpu: "H200",
};

const raw = `==PROF== Connected to process 4711 (/usr/bin/python3)
==PROF== Profiling "saxpy" - 0: 0%....50%....100% - 9 passes
"ID","Kernel Name","Block Size","Grid Size","CC","gpu__time_duration.sum","launch__registers_per_thread","launch__shared_mem_per_block_static","launch__shared_mem_per_block_dynamic","sm__throughput.avg.pct_of_peak_sustained_elapsed","gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed","gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed","lts__t_sector_hit_rate.pct"
"","","block","","","us","register/thread","byte/block","Kbyte/block","%","%","%","%"
"0","void saxpy<float, 4>(float *, const float *, int)","(256, 1, 1)","(1024, 1, 1)","9.0","12.5","32","0","0","10.5","72.25","70","33.3"
"1","sgemm","(128, 1, 1)","(64, 2, 1)","9.0","1,205.75","128","4096","65.536","91","40","12","88"
"2","void saxpy<float, 4>(float *, const float *, int)","(256, 1, 1)","(1024, 1, 1)","9.0","7.5","32","0","0","20.5","80.25","90","n/a"
==PROF== Disconnected from process 4711
`;

const line = `"0","1","python","127.0.0.1","ampere_sgemm_128x64_nn","1","7","(128, 1, 1)","(12, 8, 1)","0","8.0"`;
const details = `"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","Section Name","Metric Name","Metric Unit","Metric Value","Rule Name","Rule Type","Rule Description","Estimated Speedup Type","Estimated Speedup"
${line},"GPU Speed Of Light Throughput","DRAM Frequency","Ghz","1.21",
${line},"GPU Speed Of Light Throughput","Memory Throughput","%","41.57",
${line},"GPU Speed Of Light Throughput","DRAM Throughput","%","9.23",
${line},"GPU Speed Of Light Throughput","Duration","us","25.34",
${line},"GPU Speed Of Light Throughput","Compute (SM) Throughput","%","63.91",
${line},"SpeedOfLight","","","","SOLBottleneck","OPT","Compute is more heavily utilized than Memory, ""by far"".","",""
${line},"Memory Workload Analysis","Memory Throughput","Gbyte/s","139.11",
${line},"Memory Workload Analysis","L2 Hit Rate","%","87.01",
${line},"Launch Statistics","Grid Size","","96",
${line},"Launch Statistics","Registers Per Thread","register/thread","118",
${line},"Launch Statistics","Static Shared Memory Per Block","Kbyte/block","24.58",
${line},"Launch Statistics","Dynamic Shared Memory Per Block","byte/block","0",
`;

describe("page raw", () => {
  test("has a row for each launch, below one with the units", () => {
    expect(importNcu(raw, about)).toEqual({
      version: 1,
      name: "saxpy",
      kind: "inference",
      gpu: { name: "NVIDIA H200", computeCapability: "9.0", sms: 132 },
      source: "ncu --csv --page raw ./saxpy",
      soloNs: undefined,
      kernels: [
        {
          name: "void saxpy<float, 4>(float *, const float *, int)",
          grid: [1024, 1, 1],
          block: [256, 1, 1],
          registers: 32,
          staticSharedBytes: 0,
          dynamicSharedBytes: 0,
          durationNs: { p50: 7500, p95: 12_500 },
          smsNeeded: 128,
          sm: expect.closeTo((0.105 * 12.5 + 0.205 * 7.5) / 20),
          memory: expect.closeTo((0.7225 * 12.5 + 0.8025 * 7.5) / 20),
          dram: expect.closeTo((0.7 * 12.5 + 0.9 * 7.5) / 20),
          l2Hit: expect.closeTo(0.333),
          class: "memory",
        },
        {
          name: "sgemm",
          grid: [64, 2, 1],
          block: [128, 1, 1],
          registers: 128,
          staticSharedBytes: 4096,
          dynamicSharedBytes: 65_536,
          durationNs: { p50: 1_205_750, p95: 1_205_750 },
          // 4096 + 65536 + 1024 bytes: 3 blocks on an SM.
          smsNeeded: 43,
          sm: expect.closeTo(0.91),
          memory: expect.closeTo(0.4),
          dram: expect.closeTo(0.12),
          l2Hit: expect.closeTo(0.88),
          class: "compute",
        },
      ],
      sequence: [{ kernel: 0 }, { kernel: 1 }, { kernel: 0 }],
    });
  });

  test("of several iterations gives the order of the last", () => {
    const again = raw
      .replace('"2","void saxpy<float, 4>(float *, const float *, int)"', '"2","sgemm"')
      .replace(
        "==PROF== Disconnected",
        `"3","sgemm","(1, 1, 1)","(1, 1, 1)","9.0","1","1","0","0","1","1","1","1"\n==`,
      );
    const { sequence, kernels } = importNcu(again, { ...about, iterations: 2 });
    expect([sequence, kernels.length]).toEqual([[{ kernel: 2 }, { kernel: 3 }], 4]);
    expect(() => importNcu(raw, { ...about, iterations: 2 })).toThrow(
      "saxpy.csv: its 3 launches are not 2 equal iterations.",
    );
  });

  test("may say which GPU it was", () => {
    const said = `"ID","Kernel Name","Block Size","Grid Size","CC","device__attribute_display_name","device__attribute_multiprocessor_count","gpu__time_duration.sum"
"","","","","","","","nsecond"
"0","k","(1, 1, 1)","(1, 1, 1)","8.9","NVIDIA L40S","142","900"
`;
    const { gpu: _, ...rest } = about;
    expect(importNcu(said, rest).gpu).toEqual({
      name: "NVIDIA L40S",
      computeCapability: "8.9",
      sms: 142,
    });
  });
});

describe("page details", () => {
  test("has a row for each metric of a launch", () => {
    const { kernels, sequence } = importNcu(details, { ...about, gpu: "A100" });
    expect(sequence).toEqual([{ kernel: 0 }]);
    expect(kernels).toEqual([
      {
        name: "ampere_sgemm_128x64_nn",
        grid: [12, 8, 1],
        block: [128, 1, 1],
        registers: 118,
        staticSharedBytes: 24_580,
        dynamicSharedBytes: 0,
        durationNs: { p50: 25_340, p95: 25_340 },
        smsNeeded: 24,
        sm: expect.closeTo(0.6391),
        memory: expect.closeTo(0.4157),
        dram: expect.closeTo(0.0923),
        l2Hit: expect.closeTo(0.8701),
        class: "compute",
      },
    ]);
  });

  test("with --metrics has the metrics' own names; n/a is not measured, units are scaled", () => {
    const some = `"ID","Kernel Name","Block Size","Grid Size","CC","Metric Name","Metric Unit","Metric Value"
"0","k","(32, 1, 1)","(4, 1, 1)","9.0","dram__throughput.avg.pct_of_peak_sustained_elapsed","","n/a"
"0","k","(32, 1, 1)","(4, 1, 1)","9.0","gpu__time_duration.sum","ms","0.001073"
"0","k","(32, 1, 1)","(4, 1, 1)","9.0","lts__t_sector_hit_rate.pct","%","100.06"
"0","k","(32, 1, 1)","(4, 1, 1)","9.0","launch__shared_mem_per_block_dynamic","Kbyte/block","33.001"
"0","k","(32, 1, 1)","(4, 1, 1)","9.0","sm__throughput.avg.pct_of_peak_sustained_elapsed","%","2"
`;
    expect(importNcu(some, about).kernels).toMatchObject([
      {
        durationNs: { p50: 1073 },
        dynamicSharedBytes: 33_001,
        sm: 0.02,
        l2Hit: 1,
        class: "unknown",
      },
    ]);
    expect(importNcu(some, about).kernels[0]).not.toHaveProperty("dram");
  });
});

describe("the roofline", () => {
  const importMetrics = (
    metrics: Readonly<Record<string, readonly [unit: string, value: string]>>,
  ) => {
    const names = Object.keys(metrics).map((name) => `,"${name}"`);
    const units = Object.values(metrics).map(([unit]) => `,"${unit}"`);
    const values = Object.values(metrics).map(([, value]) => `,"${value}"`);
    const text = `"ID","Kernel Name","Block Size","Grid Size","CC","gpu__time_duration.sum"${names.join("")}
"","","","","","us"${units.join("")}
"0","k","(32, 1, 1)","(4, 1, 1)","7.0","10"${values.join("")}
`;
    return importNcu(text, { ...about, gpu: "V100" }).kernels[0]?.class;
  };
  const op = (name: string) => `smsp__sass_thread_inst_executed_op_${name}_pred_on.sum`;
  const bytes = {
    "dram__bytes_read.sum": ["Mbyte", "0.75"],
    "dram__bytes_write.sum": ["Kbyte", "250"],
  } as const;

  // The V100's ridge is 17.4 operations per byte; here are a million bytes.
  test.each([
    { fma: "8,500,000", is: "memory" },
    { fma: "9,000,000", is: "compute" },
  ])("of $fma FMAs a million bytes is $is", ({ fma, is }) => {
    const ops = {
      [op("fadd")]: ["inst", "0"],
      [op("fmul")]: ["inst", "0"],
      [op("ffma")]: ["inst", fma],
    } as const;
    expect(importMetrics({ ...ops, ...bytes })).toBe(is);
  });

  test("may be counted per cycle", () => {
    const rate = { "smsp__cycles_elapsed.avg.per_second": ["Ghz", "1.5"] } as const;
    // 15,000 cycles: 1,000 FMAs in each are 30 million operations.
    const ops = Object.fromEntries(
      [
        ["fadd", "0"],
        ["fmul", "0"],
        ["ffma", "1,000"],
      ].map(([name = "", value = ""]) => [
        `${op(name)}.per_cycle_elapsed`,
        ["inst/cycle", value] as const,
      ]),
    );
    expect(importMetrics({ ...rate, ...ops, ...bytes })).toBe("compute");
  });

  test("in fp32 says nothing of a kernel on the tensor cores", () => {
    const ops = {
      [op("fadd")]: ["inst", "5"],
      [op("fmul")]: ["inst", "5"],
      [op("ffma")]: ["inst", "5"],
    } as const;
    const tensor = { "sm__inst_executed_pipe_tensor.sum": ["inst", "1,000"] } as const;
    expect(importMetrics({ ...ops, ...bytes })).toBe("memory");
    expect(importMetrics({ ...ops, ...bytes, ...tensor })).toBe("unknown");
  });
});

test.each([
  {
    text: "hello\nworld\n",
    says: 'saxpy.csv: it is no CSV of Nsight Compute: no line has a column "Kernel Name".',
  },
  { text: raw.slice(0, raw.indexOf('"0",')), says: "saxpy.csv: it holds no launch." },
  {
    text: raw.slice(0, raw.indexOf('"91"')),
    says: "saxpy.csv, line 6: it has 10 fields where the header has 13: cut short?",
  },
  {
    text: raw.replace('"12.5"', '"soon"'),
    says: 'saxpy.csv, line 5: gpu__time_duration.sum is "soon", not a number.',
  },
  {
    text: raw.replace('"12.5"', '""'),
    says: "saxpy.csv, line 5: the launch lacks its duration (gpu__time_duration.sum).",
  },
  {
    text: raw.replace('"(64, 2, 1)"', '"(64, 2)"'),
    says: 'saxpy.csv, line 6: Grid Size is "(64, 2)", not three sizes such as (128, 1, 1).',
  },
  { text: raw, gpu: "H300", says: 'saxpy.csv: no GPU called "H300" is known.' },
  {
    text: raw,
    gpu: "V100",
    says: "saxpy.csv: it was recorded on compute capability 9.0, which V100 does not have.",
  },
])("says in a sentence: $says", ({ text, gpu = "H200", says }) => {
  expect(() => importNcu(text, { ...about, gpu })).toThrow(says);
});

test("a GPU must be named if the file does not name it", () => {
  const { gpu: _, ...rest } = about;
  expect(() => importNcu(raw, rest)).toThrow(
    expect.objectContaining({
      message: "saxpy.csv: it does not say which GPU it was recorded on.",
      hint: "Name one: H100, H200.",
    }),
  );
});

describe("the parts of a throughput, measured in separate runs", () => {
  const OF_PEAK = "avg.pct_of_peak_sustained_elapsed";
  const run = (metrics: Readonly<Record<string, readonly [string, string]>>) => {
    const names = Object.keys(metrics).map((name) => `"${name}.${OF_PEAK}"`);
    const row = (id: number, kernel: string) => {
      const values = Object.values(metrics).map((of) => `"${of[id]}"`);
      return `"${id}","${kernel}","(128, 1, 1)","(64, 1, 1)","9.0","2000",${values.join(",")}`;
    };
    const units = Object.keys(metrics).map(() => `"%"`);
    return [
      `"ID","Kernel Name","Block Size","Grid Size","CC","gpu__time_duration.sum",${names.join(",")}`,
      `"","","block","","","ns",${units.join(",")}`,
      row(0, "gemm"),
      row(1, "add"),
      "",
    ].join("\n");
  };
  const tensor = run({
    sm__pipe_tensor_type_hmma_cycles_active: ["71", "0"],
    l1tex__m_xbar2l1tex_read_sectors: ["33", "20"],
    gpu__dram_throughput: ["12", "45"],
  });
  const pipes = run({
    sm__pipe_fma_cycles_active: ["3", "9"],
    sm__pipe_alu_cycles_active: ["8", "14"],
    lts__t_tag_requests: ["40", "31"],
  });
  const kernels = (...texts: readonly string[]) => importNcu(texts, about).kernels;

  test("are joined, and the largest is the throughput", () => {
    expect(kernels(tensor, pipes)).toMatchObject([
      { name: "gemm", sm: 0.71, memory: 0.4, dram: 0.12, class: "compute" },
      { name: "add", sm: 0.14, memory: 0.45, dram: 0.45 },
    ]);
    expect(kernels(pipes, tensor)).toMatchObject([{ sm: 0.71 }, { memory: 0.45 }]);
  });

  test("make a kernel memory-bound if it uses no tensor cores and its pipe is less busy than the DRAM", () => {
    expect(kernels(tensor, pipes)[1]?.class).toBe("memory");
    const busy = pipes.replace('"9","14"', '"46","14"');
    expect(kernels(tensor, busy)[1]?.class).toBe("unknown");
  });

  test("are not enough to tell how busy the SMs are", () => {
    for (const texts of [[tensor], [pipes]])
      for (const kernel of kernels(...texts)) expect(kernel.sm).toBeUndefined();
  });

  test("are not used if the throughput itself was measured", () => {
    const whole = run({ sm__throughput: ["50", "6"], sm__pipe_alu_cycles_active: ["8", "14"] });
    expect(kernels(whole)).toMatchObject([{ sm: 0.5 }, { sm: 0.06 }]);
  });
});
