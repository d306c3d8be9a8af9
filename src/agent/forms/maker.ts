// What a client's request for forms (variants.ts) comes to, for the agent's thread: a reply, some time later.
import { type Reply, refusal } from "../registry.ts";

export interface FormMaker {
  /** `path`: the request's file; `client`: the process that asks. */
  ask(path: string, client: number): FormRequest;
}

export interface FormRequest {
  /** Never rejects: what goes wrong is a refusal. */
  readonly answer: Promise<FormReply>;
  /** The client does not wait any more. */
  giveUp(): void;
}

export interface FormReply {
  readonly reply: Reply;
  /** Closes the descriptor in the reply. */
  done(): void;
}

export const refused = (why: string): FormReply => ({ reply: refusal(why), done() {} });

/** For an agent that makes none. */
export const noFormMaker: FormMaker = {
  ask: () => ({ answer: Promise.resolve(refused("This agent makes no forms.")), giveUp() {} }),
};
