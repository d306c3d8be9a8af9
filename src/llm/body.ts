// A server that caches prefixes answers from its cache if a run repeats the seed of an earlier one,
// so each run draws a seed of its own unless it is told one.
import { sfc32 } from "#core";
import type { PlannedRequest } from "./planned-request.ts";

export type Api = "completions" | "chat";
type Prompts = "ids" | "words";

export interface BodyOptions {
  readonly api: Api;
  readonly prompts: Prompts;
  readonly model: string;
  readonly stopAtEos: boolean;
  readonly promptSeed: number; // 0 to `MAX_PROMPT_SEED`; arrivals and lengths have another
}

/** Every vocabulary is larger than the highest id; the lowest ones are often special tokens. */
const ids = { from: 1_000, to: 30_000 };
/** Most tokenizers know each word as one token with the blank before it. */
const words =
  "time year people way day man thing woman life child world school state family student group country problem hand part place case week company system program question work number night point home water room mother area money story fact month lot right study book eye job word business issue side kind head house service friend father power hour game line end member law car city name team minute idea body back parent face level office door health person art war history party result change morning reason research girl guy moment air teacher force".split(
    " ",
  );

/** A seed and the number of a request are one whole number below 2^53. */
export const MAX_PROMPT_SEED = 2 ** 20;

/** `index`: the number in the run, or in the warm-up plus `FIRST_INDEX`. */
export function bodyOf(asked: PlannedRequest, index: number, options: BodyOptions): string {
  const { api, prompts, model, stopAtEos, promptSeed } = options;
  const random = sfc32(promptSeed * 2 ** 32 + index);
  const below = (n: number) => Math.floor(random() * n);
  const tokens = <T>(make: () => T): T[] => Array.from({ length: asked.prompt }, make);
  const text = () => tokens(() => words[below(words.length)]).join(" ");
  const prompt =
    api === "chat"
      ? { messages: [{ role: "user", content: text() }] }
      : { prompt: prompts === "ids" ? tokens(() => ids.from + below(ids.to - ids.from)) : text() };
  return JSON.stringify({
    model,
    ...prompt,
    max_tokens: asked.output,
    temperature: 0,
    ...(stopAtEos ? {} : { ignore_eos: true }),
    stream: true,
    stream_options: { include_usage: true },
  });
}
