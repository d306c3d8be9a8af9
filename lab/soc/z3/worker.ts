// Z3 is 30 MB of WebAssembly with its own threads, and it blocks while it computes. So it runs in a worker, which is
// loaded only when it is needed. The worker's code is a text, so that the bundle needs no entry for it.
import { createRequire } from "node:module";
import { Worker } from "node:worker_threads";
import { noZ3 } from "../problem/errors.ts";

/**
 * Sends back Z3's answer to each text. `session` keeps what was asserted. The package's own `eval_smtlib2_string`
 * (5.2.0) is not used: it reads the text in another thread from memory that the caller may have freed by then, so Z3
 * sometimes judged a mangled problem.
 */
const CODE = `
const { parentPort, workerData } = require("node:worker_threads");
(async () => {
  const { Z3, em } = await require(workerData.path).init();
  const config = Z3.mk_config();
  const session = Z3.mk_context(config);
  Z3.del_config(config);
  parentPort.on("message", (text) => {
    try {
      const types = ["number", "string"];
      parentPort.postMessage({ answer: em.ccall("Z3_eval_smtlib2_string", "string", types, [session, text]) });
    } catch (error) {
      parentPort.postMessage({ error: String(error) });
    }
  });
  parentPort.postMessage({ answer: "ready" });
})().catch((error) => parentPort.postMessage({ error: String(error) }));
`;

/** Node treats a longer timer as no delay. */
const LONGEST_MS = 2 ** 31 - 1;

export interface Session {
  /**
   * Sends SMT-LIB 2 and returns what Z3 prints; undefined if it takes longer than `limitMs`, and from then on always.
   * Rejects if Z3 does not accept the text as it is, because half of an assertion must not be judged.
   */
  ask(text: string, limitMs: number): Promise<string | undefined>;
  close(): Promise<void>;
}

function z3Path(): string {
  const require = createRequire(import.meta.url);
  try {
    return require.resolve("z3-solver");
  } catch {
    throw noZ3();
  }
}

/** Rejects if Z3 cannot be loaded, with a UserError where it is not installed. If loading takes longer than `limitMs`, the session answers only undefined. */
export async function openZ3(limitMs: number): Promise<Session> {
  const path = z3Path();
  const worker = new Worker(CODE, { eval: true, workerData: { path }, execArgv: [] });
  worker.unref();
  const close = async () => {
    await worker.terminate();
  };
  const reply = (limitMs: number) =>
    new Promise<string | undefined>((resolve, reject) => {
      const timer = setTimeout(
        () => settle(() => resolve(undefined)),
        Math.min(limitMs, LONGEST_MS),
      );
      const settle = (how: () => void) => {
        clearTimeout(timer);
        worker.off("message", onMessage);
        worker.off("error", onError);
        how();
      };
      const onMessage = (said: { answer?: string; error?: string }) =>
        settle(() =>
          said.answer === undefined ? reject(new Error(said.error)) : resolve(said.answer),
        );
      const onError = (error: Error) => settle(() => reject(error));
      worker.on("message", onMessage);
      worker.on("error", onError);
    });
  let open = (await reply(limitMs)) !== undefined;
  return {
    async ask(text, limitMs) {
      if (!open) return undefined;
      const answer = reply(limitMs);
      worker.postMessage(text);
      const said = await answer;
      if (said === undefined) {
        open = false;
        await close();
      }
      if (said?.includes("(error")) throw new Error(said.trim());
      return said;
    },
    close,
  };
}
