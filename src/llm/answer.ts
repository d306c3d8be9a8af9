export type AnswerEvent =
  | { readonly kind: "end" }
  | { readonly kind: "error"; readonly message: string }
  | {
      readonly kind: "chunk";
      /** The first chunk of a chat, and one that holds the usage only, have no text. */
      readonly text: boolean;
      readonly made: number | undefined;
      readonly promptTokens: number | undefined;
    };

interface Chunk {
  readonly error?: { readonly message?: unknown } | string;
  readonly choices?: readonly {
    readonly text?: unknown;
    readonly delta?: Readonly<Record<string, unknown>>;
  }[];
  readonly usage?: {
    readonly completion_tokens?: unknown;
    readonly prompt_tokens?: unknown;
  } | null;
}

/** Reasoning has two names: that of vLLM's newer versions and the older one. */
const textFields = ["content", "reasoning", "reasoning_content", "tool_calls"];

export function readEvent(data: string): AnswerEvent {
  if (data.trim() === "[DONE]") return { kind: "end" };
  let chunk: Chunk;
  try {
    chunk = JSON.parse(data) as Chunk;
  } catch {
    return { kind: "error", message: `an event is no JSON: ${data.slice(0, 80)}` };
  }
  if (chunk?.error !== undefined) return { kind: "error", message: messageOf(chunk) };
  return {
    kind: "chunk",
    text: (chunk?.choices ?? []).some(
      ({ text, delta }) =>
        isText(text) || textFields.some((field) => isText(delta?.[field] ?? undefined)),
    ),
    made: countOf(chunk?.usage?.completion_tokens),
    promptTokens: countOf(chunk?.usage?.prompt_tokens),
  };
}

/** {"error": {"message"}} is of OpenAI, {"error": "…"} of TGI, {"message"} of others. */
export function refusalOf(body: string): string {
  try {
    return messageOf(JSON.parse(body));
  } catch {
    return body.trim().slice(0, LONGEST);
  }
}

const LONGEST = 200;

function messageOf(body: { readonly error?: unknown; readonly message?: unknown }): string {
  const { error } = body;
  const inner =
    typeof error === "object" && error !== null && "message" in error ? error.message : error;
  return String(inner ?? body.message ?? JSON.stringify(body)).slice(0, LONGEST);
}

const isText = (value: unknown): boolean =>
  (typeof value === "string" || Array.isArray(value)) && value.length > 0;

const countOf = (value: unknown): number | undefined =>
  typeof value === "number" && value >= 0 ? value : undefined;
