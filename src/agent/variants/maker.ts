import { type Reply, refusal } from "../gpus/registry.ts";

export interface VariantMaker {
  ask(path: string, client: number): PendingRequest;
}

export interface PendingRequest {
  /** Never rejects: a failure is a refusal. */
  readonly answer: Promise<VariantReply>;
  giveUp(): void;
}

export interface VariantReply {
  readonly reply: Reply;
  done(): void;
}

export const refused = (why: string): VariantReply => ({ reply: refusal(why), done() {} });

export const noVariantMaker: VariantMaker = {
  ask: () => ({ answer: Promise.resolve(refused("This agent makes no variants.")), giveUp() {} }),
};
