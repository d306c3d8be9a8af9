// Tables in docs/guide/install.md and docs/results/tested.md are made from it.

interface Combination {
  /** It is as the driver says it. */
  readonly gpu: string;
  /** It is the first number of the driver's version. */
  readonly driver: string;
  /** It is the highest CUDA version that this driver serves. */
  readonly cuda: string;
}

export const testedCombinations: readonly Combination[] = [
  { gpu: "NVIDIA H200", driver: "580", cuda: "13.0" },
  { gpu: "NVIDIA H100 80GB HBM3", driver: "580", cuda: "13.0" },
];

export const isTested = (gpu: string, driverVersion: string): boolean =>
  testedCombinations.some((one) => one.gpu === gpu && one.driver === driverVersion.split(".")[0]);

export const testedTable = (): readonly string[] => [
  "| GPU | driver | CUDA |",
  "| --- | --- | --- |",
  ...testedCombinations.map(({ gpu, driver, cuda }) => `| ${gpu} | ${driver} | ${cuda} |`),
];
