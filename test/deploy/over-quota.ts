// Asks for more memory than its quota allows, is refused, and stays, unless it is told that it ends.
import { deviceMemory, loadCuda, openGpu } from "#load";

const gpu = openGpu(loadCuda(), 0, 1);
try {
  deviceMemory(gpu, 2 ** 30);
} catch {
  console.error("refused");
}
if (process.argv[2] === undefined) setInterval(() => {}, 1000);
