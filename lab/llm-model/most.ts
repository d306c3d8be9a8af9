// How many requests a second an engine can serve. With more, its queue grows for as long as they come.
import type { Shape, Tokens } from "./engine.ts";

/**
 * About how many requests a second an engine serves if some always wait, each like one of `like`. It may serve a tenth more:
 * all its sequences decode all the time here, also those whose prompt is still read.
 */
export function mostPerS(shape: Shape, like: readonly Tokens[]): number {
  const mean = (of: (tokens: Tokens) => number) =>
    like.reduce((sum, tokens) => sum + of(tokens), 0) / like.length;
  const [prompt, output] = [mean((one) => one.prompt), mean((one) => one.output)];
  const fit = shape.cacheTokens / (prompt + output);
  const sequences = Math.max(1, Math.min(shape.mostSequences, fit));
  const decoding = shape.perSequenceMs + shape.perContextMs * (prompt + output / 2);
  const stepMs = shape.stepMs + shape.gapMs + sequences * decoding;
  // Every sequence has a token in each step, and a step has room for so many tokens in all.
  const steps = Math.max(output / sequences, (prompt + output) / shape.batchTokens);
  return 1000 / (steps * stepMs + prompt * shape.perPromptTokenMs);
}
