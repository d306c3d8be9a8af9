import { expect, test } from "vitest";
import { severalRanks, whyNoGang } from "./index.ts";

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
