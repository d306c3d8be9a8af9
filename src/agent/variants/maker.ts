// Answers a client's request for variants (make-variants.ts) on the agent's thread: a reply, some time later.
import { type Reply, refusal } from "../gpus/registry.ts";

export interface VariantMaker {
  /** `path`: the request's file; `client`: the process that asks. */
  ask(path: string, client: number): PendingRequest;
}

export interface PendingRequest {
  /** Never rejects: what goes wrong is a refusal. */
  readonly answer: Promise<VariantReply>;
  /** The client does not wait any more. */
  giveUp(): void;
}

export interface VariantReply {
  readonly reply: Reply;
  /** Closes the descriptor in the reply. */
  done(): void;
}

export const refused = (why: string): VariantReply => ({ reply: refusal(why), done() {} });

/** For an agent that makes none. */
export const noVariantMaker: VariantMaker = {
  ask: () => ({ answer: Promise.resolve(refused("This agent makes no variants.")), giveUp() {} }),
};
