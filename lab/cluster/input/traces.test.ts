import { describe, expect, test } from "vitest";
import { traceFormats } from "./traces.ts";

// Rows in the publishers' formats, with values of our own.
const philly = "timestamp,duration,num_gpus,gpu_time,cluster\n";
const gavel = "LM (batch size 10)\tcmd\t--steps\t1\t8165\t12.0\t2\n";
const alibaba =
  "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n";
const muri = "job_id,num_gpu,submit_time,iterations,model_name,batch_size,duration,interval\n";
const tiresias = "job_id,num_gpu,submit_time,iterations,model_name,duration,interval\n";

describe("traces", () => {
  test.each([
    [
      "philly",
      `${philly}2017-10-09 07:01:55,66.0,1,66.0,aa\n2017-10-09 07:02:55,10,4,40,bb\n`,
      "bb",
      { submitted: Date.UTC(2017, 9, 9, 7, 2, 55) / 1000, seconds: 10, gpus: 4 },
    ],
    ["gavel", gavel, undefined, { submitted: 12, gpus: 2, model: "LM (batch size 10)" }],
    [
      "alibaba",
      `${alibaba}a,1,1,0,0,,BE,Running,0,9,1\nb,1,1,1,1000,,LS,Running,0,9,1\nc,1,1,2,1000,,BE,Running,5,65,10\nd,1,1,1,500,,BE,Pending,5,65,\n`,
      undefined,
      { name: "c", submitted: 5, seconds: 55, gpus: 2 },
    ],
    [
      "muri",
      `${muri}7,8,1534000,3,vgg16,16,281000,1\n`,
      undefined,
      { name: "job-7", submitted: 1534, seconds: 281, gpus: 8, model: "vgg16" },
    ],
    [
      "tiresias",
      `${tiresias}0,1,30,606,vgg19,164,30\n`,
      undefined,
      { submitted: 30, seconds: 164, gpus: 1 },
    ],
  ])("%s is read in seconds", (format, content, cluster, job) => {
    const jobs = traceFormats[format]?.(content, "f", cluster);
    expect(jobs).toHaveLength(1);
    expect(jobs?.[0]).toMatchObject(job);
  });

  test.each([
    [
      "philly",
      `${philly}2017-10-09 07:01:55,-5,1,66.0,aa\n`,
      /f\.csv, line 2: duration is "-5", not a number of at least 0/,
    ],
    [
      "philly",
      `${philly}2017-10-09 07:01:55,5,1,5,aa\n2017-10-09 07:01:55,,1,66.0,aa\n`,
      /line 3: duration is empty/,
    ],
    ["philly", `${philly}2017-10-09 07:01:55,NaN,1,66.0,aa\n`, /duration is "NaN"/],
    ["philly", `${philly}yesterday,5,1,5,aa\n`, /line 2: timestamp is "yesterday"/],
    [
      "philly",
      `${philly}2017-10-09 07:01:55,5,1.5,5,aa\n`,
      /num_gpus is "1.5", not a whole number/,
    ],
    ["philly", "time,duration\n1,2\n", /f\.csv has no column timestamp/],
    ["philly", philly, /f\.csv holds no rows/],
    [
      "gavel",
      gavel.replace("LM (batch size 10)", "LSTM"),
      /line 1: job type is "LSTM", not one of/,
    ],
    ["gavel", gavel.replace("12.0", "-1"), /line 1: arrival is "-1"/],
    [
      "alibaba",
      `${alibaba}c,1,1,1,1000,,BE,Running,5,3,10\n`,
      /line 2: deletion_time is "3", not a time after scheduled_time 10/,
    ],
    ["alibaba", `${alibaba}c,1,1,1,1000,,LS,Running,5,30,10\n`, /no best-effort pod in it/],
    ["muri", `${muri}7,0,1,3,vgg16,16,281000,1\n`, /line 2: num_gpu is "0"/],
    ["tiresias", `${tiresias}0,1,Infinity,606,vgg19,164,30\n`, /submit_time is "Infinity"/],
  ])("%s: %j is refused by row", (format, content, message) => {
    expect(() => traceFormats[format]?.(content, "f.csv")).toThrow(message);
  });
});

describe("the generic format and Alibaba's of 2025", () => {
  const csv = "seconds,submitted,gpus,workload,priority,name\n";

  test("csv: columns in any order; only two must be there", () => {
    const jobs = traceFormats.csv?.(
      `${csv}60,2026-01-05 10:00:00,2,a,3,x\n30,2026-01-05T11:00:30+01:00,,,,\n`,
      "f.csv",
    );
    const start = Date.UTC(2026, 0, 5, 10) / 1000;
    expect(jobs).toEqual([
      { name: "x", submitted: start, seconds: 60, gpus: 2, model: "a", priority: 3, workload: "a" },
      { name: "job-1", submitted: start + 30, seconds: 30, gpus: 1, model: "", priority: 0 },
    ]);
    expect(traceFormats.csv?.("submitted,seconds\n5,7\n", "f.csv")[0]).toMatchObject({
      submitted: 5,
      seconds: 7,
      gpus: 1,
    });
  });

  test.each([
    ["submitted\n5\n", /f\.csv has no column seconds/],
    [`${csv}60,soon,1,,,\n`, /line 2: submitted is "soon", not seconds or a date and time/],
    [`${csv}60,5,0.5,,,\n`, /line 2: gpus is "0.5", not a whole number of at least 0/],
  ])("csv: %j is refused by row", (content, message) => {
    expect(() => traceFormats.csv?.(content, "f.csv")).toThrow(message);
  });

  test("alibaba-2025: instances with both times; CPU nodes need no GPU", () => {
    const header =
      "instance_sn,role,app_name,cpu_request,gpu_request,creation_time,scheduled_time,deletion_time\n";
    const rows =
      "i0,HN,app_0,12,1,,,\ni1,CN,app_1,64,0,100.0,110.0,160.0\ni2,HN,app_0,12,1,50,60,90\n";
    expect(traceFormats["alibaba-2025"]?.(header + rows, "f")).toEqual([
      { name: "i1", submitted: 100, seconds: 50, gpus: 0, model: "app_1", priority: 0 },
      { name: "i2", submitted: 50, seconds: 30, gpus: 1, model: "app_0", priority: 0 },
    ]);
    expect(() => traceFormats["alibaba-2025"]?.(`${header}i0,HN,app_0,12,1,,,\n`, "f")).toThrow(
      /no instance in it was scheduled and deleted/,
    );
  });
});
