import { expect, test } from "vitest";
import { rankIn, severalRanks, whyNoGang } from "./index.ts";

const torchrun = {
  ...{ WORLD_SIZE: "4", RANK: "3", LOCAL_RANK: "3", LOCAL_WORLD_SIZE: "4" },
  ...{ MASTER_ADDR: "127.0.0.1", MASTER_PORT: "29500" },
};
const openMpi = {
  ...{ OMPI_COMM_WORLD_SIZE: "2", OMPI_COMM_WORLD_RANK: "0", OMPI_COMM_WORLD_LOCAL_SIZE: "2" },
  PMIX_NAMESPACE: "job",
};
const slurm = {
  ...{ SLURM_STEP_NUM_TASKS: "2", SLURM_PROCID: "1", SLURM_STEP_NUM_NODES: "1" },
  ...{ SLURM_JOB_ID: "7", SLURM_STEP_ID: "0" },
};

test.each([torchrun, openMpi, slurm])("ranks of one machine are a gang: %o", (env) => {
  expect(severalRanks(env)).toBeDefined();
  expect(whyNoGang(env)).toBeUndefined();
});

test.each([
  [{ ...torchrun, LOCAL_WORLD_SIZE: "2" }, "on several machines"],
  [{ ...openMpi, OMPI_COMM_WORLD_LOCAL_SIZE: "1" }, "on several machines"],
  [{ ...slurm, SLURM_STEP_NUM_NODES: "2" }, "on several machines"],
  [{ ...torchrun, WORLD_SIZE: "17", LOCAL_WORLD_SIZE: "17" }, "more than 16 ranks"],
  [{ ...torchrun, RANK: "4" }, "its number is not below"],
  [{ WORLD_SIZE: "2", RANK: "0" }, "neither torchrun"],
  [{ WORLD_SIZE: "2", MASTER_PORT: "29500" }, "neither torchrun"],
  [{ PMI_SIZE: "2", PMI_RANK: "0" }, "neither torchrun"],
])("%o is no gang: %s", (env, why) => {
  expect(severalRanks(env)).toBeDefined();
  expect(whyNoGang(env)).toContain(why);
});

test.each([
  [torchrun, 3, { ...torchrun, RANK: "1" }, { ...torchrun, MASTER_PORT: "29501" }],
  [
    { ...torchrun, TORCHELASTIC_RUN_ID: "a", TORCHELASTIC_RESTART_COUNT: "0" },
    3,
    { ...torchrun, TORCHELASTIC_RUN_ID: "a", TORCHELASTIC_RESTART_COUNT: "1" },
    { ...torchrun, TORCHELASTIC_RUN_ID: "b", TORCHELASTIC_RESTART_COUNT: "0" },
  ],
  [openMpi, 0, { ...openMpi, OMPI_COMM_WORLD_RANK: "1" }, { ...openMpi, PMIX_NAMESPACE: "other" }],
  [slurm, 1, { ...slurm, SLURM_PROCID: "0" }, { ...slurm, SLURM_STEP_ID: "1" }],
])("%o is rank %i of a job that %o is in and %o is not", (env, rank, peer, other) => {
  expect(rankIn(env)?.rank).toBe(rank);
  expect(rankIn(peer)?.job).toBe(rankIn(env)?.job);
  expect(rankIn(other)?.job).not.toBe(rankIn(env)?.job);
});

test.each([
  [{ ...torchrun, WORLD_SIZE: "1" }],
  [{ WORLD_SIZE: "2", RANK: "0" }],
  [{ PMI_SIZE: "2", PMI_RANK: "0" }],
])("%o names no job of several ranks", (env) => {
  expect(rankIn(env)).toBeUndefined();
});
