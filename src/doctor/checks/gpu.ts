import { readdirSync } from "node:fs";
import type { GpuFacts } from "#agent";
import { type Finding, fail, pass, skip, warn } from "../facts/finding.ts";
import { gpusOf, type Surroundings, textOf } from "../facts/surroundings.ts";
import { isTested, testedCombinations } from "../facts/tested.ts";

export function checkDriver(around: Surroundings): Finding {
  const { driver } = around;
  const check = "driver";
  if (typeof driver === "object" && driver.gpus.length > 0) {
    const { version, cuda, gpus } = driver;
    const names = gpus.map(({ name }) => name).join(", ");
    return pass(check, `driver ${version}${cuda ? ` (CUDA ${cuda})` : ""} serves ${names}.`);
  }
  const [card] = cardsIn(around);
  if (card === undefined && driver === undefined)
    return warn(
      check,
      "This machine shows no NVIDIA GPU and no driver.",
      'The software GPU takes its place: "cotenant up --gpu soft". It runs no code, so results are not computed.',
    );
  if (driver === undefined)
    return fail(
      check,
      `There is an NVIDIA GPU (PCI ${card}), but libnvidia-ml.so.1 is not there.`,
      "Install NVIDIA's driver; start a container with the NVIDIA container toolkit (--gpus all).",
    );
  return fail(
    check,
    typeof driver === "string"
      ? `The NVIDIA driver says "${driver}".`
      : `Driver ${driver.version} serves no GPU.`,
    "See whether nvidia-smi works. After an update of the driver, load its module again or restart the machine.",
  );
}

function cardsIn(around: Surroundings): readonly string[] {
  const folder = "/sys/bus/pci/devices";
  try {
    return readdirSync(`${around.root}${folder}`).filter((address) => {
      const of = (what: string) => textOf(around, `${folder}/${address}/${what}`)?.trim() ?? "";
      return of("vendor") === "0x10de" && of("class").startsWith("0x03");
    });
  } catch {
    return [];
  }
}

export function checkCombination(around: Surroundings): readonly Finding[] {
  const check = "tested";
  const { driver } = around;
  if (typeof driver !== "object" || driver.gpus.length === 0) return [noGpu(check)];
  const names = [...new Set(driver.gpus.map(({ name }) => name))];
  const [major] = driver.version.split(".");
  const known = testedCombinations.map((one) => `${one.gpu} with driver ${one.driver}`);
  return names.map((name) =>
    isTested(name, driver.version)
      ? pass(check, `${name} with driver ${major} is a tested combination.`)
      : warn(
          check,
          `${name} with driver ${major} is untested. Tested: ${known.join(", ")}.`,
          'Measure your pair before you rely on it: "cotenant-lab bench".',
        ),
  );
}

export function checkDivision(around: Surroundings): readonly Finding[] {
  const check = "MIG";
  return eachGpu(around, check, ({ divided, virtual }, index) => {
    if (virtual)
      return warn(check, `GPU ${index} is virtual (vGPU), which is untested.`, "Use a whole GPU.");
    if (divided)
      return warn(
        check,
        `GPU ${index} is divided by MIG, which is untested.`,
        `Use a whole GPU: "sudo nvidia-smi -i ${index} -mig 0".`,
      );
    return pass(
      check,
      divided === undefined ? `GPU ${index} has no MIG.` : `MIG is off on GPU ${index}.`,
    );
  });
}

export function checkContexts(around: Surroundings): readonly Finding[] {
  const check = "compute mode";
  return eachGpu(around, check, ({ contexts }, index) => {
    const cure = `Allow several processes: "sudo nvidia-smi -i ${index} -c DEFAULT".`;
    if (contexts === "none")
      return fail(check, `GPU ${index} lets no process have a context.`, cure);
    if (contexts === "one")
      return warn(
        check,
        `GPU ${index} lets one process have a context, which goes with "up --mode mps" alone.`,
        cure,
      );
    return pass(check, `GPU ${index} lets several processes have a context.`);
  });
}

export function checkPersistence(around: Surroundings): readonly Finding[] {
  const check = "persistence";
  return eachGpu(around, check, ({ persistent }, index) =>
    persistent === false
      ? warn(
          check,
          `Persistence mode is off on GPU ${index}: while nobody uses it, the driver lets go of it, and the next start takes seconds.`,
          `"sudo nvidia-smi -i ${index} -pm 1", or start nvidia-persistenced.`,
        )
      : pass(check, `The driver keeps GPU ${index} ready.`),
  );
}

export function checkClocks(around: Surroundings): readonly Finding[] {
  const check = "clocks";
  return eachGpu(around, check, ({ smClockMHz, mostSmClockMHz, slowedBy }, index) => {
    const now = `${smClockMHz ?? "unknown"} of ${mostSmClockMHz ?? "unknown"} MHz`;
    return slowedBy.length > 0
      ? warn(
          check,
          `GPU ${index} runs at ${now}, limited by ${slowedBy.join(" and ")}: latencies vary with it.`,
          `See "nvidia-smi -q -i ${index} -d PERFORMANCE,CLOCK".`,
        )
      : pass(check, `GPU ${index} runs at ${now}; nothing limits it.`);
  });
}

const noGpu = (check: string): Finding => skip(check, "There is no NVIDIA GPU to look at.");

function eachGpu(
  around: Surroundings,
  check: string,
  look: (gpu: GpuFacts, index: number) => Finding,
): readonly Finding[] {
  const gpus = gpusOf(around);
  return gpus.length > 0 ? gpus.map(look) : [noGpu(check)];
}
