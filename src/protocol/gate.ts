// native/generated/gate.h is made from this file (`npm run update`). A caller in another language
// passes each struct as a block of doubles: block.ts.
import { count, flag, kindOf, word } from "./block.ts";

export const gateWords = {
  Answer: {
    run: "go ahead",
    progress:
      "go ahead with one chunk: the pause has lasted too long, or one is due beside the request",
    heldByHigh: "a request is active (or ended less than the resume delay ago)",
    paused: "the agent paused best-effort work",
    notMyTurn: "another best-effort client has the GPU",
    aheadFull: "queued-ahead work, or the budget, is used up",
    paced: "the next launch is not due yet",
  },
  TurnAction: {
    keep: "",
    give: "set the own word, give the turn to `to`, and clear that client's word unless a request is active",
    take: "from `view.turn`, unless another client takes it first",
  },
  HoldAction: {
    leave: "",
    open: "clear the word, unless a request holds best-effort work",
    close: "set the word, then check again, because another process may have checked just before",
    chunk: "clear the word even if best-effort work is held: one chunk passes",
    stand: "set the word for a moment although nothing holds, to renew the time slice",
  },
  NextLook: {
    nap: "asleep",
    border: "on the CPU; sooner if `far` changes",
    moment: "on the CPU, because the GPU stands idle meanwhile",
  },
} as const;

type WordsOf<T extends Readonly<Record<string, string>>> = { readonly [K in keyof T]: number };

const numbered = <T extends Readonly<Record<string, string>>>(words: T) =>
  Object.fromEntries(Object.keys(words).map((name, value) => [name, value])) as WordsOf<T>;

export const answers = numbered(gateWords.Answer);
export const turnAction = numbered(gateWords.TurnAction);
export const holdAction = numbered(gateWords.HoldAction);
export const nextLook = numbered(gateWords.NextLook);

export const gateView = {
  highRegistered: flag(),
  highActive: flag(),
  highClass: kindOf("KernelClass", "class of the latest high kernel"),
  idleUs: count("since the end of the last request"),
  myTurn: flag("true also if nobody else wants the GPU"),
  heldUs: count("how long this pause has lasted"),
  progressedUs: count("since the last minimum progress in this pause"),
  aheadUs: count("time of released work not known to be finished, over all best-effort clients"),
  kernelsOut: word(),
  highLeavesSms: word("SMs that the latest high kernel does not need; 0: none, or unknown"),
  highLeftUs: count("expected time until that kernel ends; 0: unknown"),
  spentUs: count("the spent part of the budget: see spent_after()"),
  earlyNs: count("until the next launch is due: see due_after()"),
  midIteration: flag("earlier work of this item's iteration was submitted"),
  highCopying: flag("a copy of an active high client crosses PCIe now"),
  activeUs: count("if high_active: since the oldest active request began"),
};

export const gateItem = {
  expectedUs: word(),
  known: flag("false: expected_us is the parameter table's guess"),
  kernelClass: kindOf("KernelClass"),
  sms: word("SMs it needs; 0: unknown, taken as all"),
  copy: flag("it crosses PCIe"),
};

export const gateChunk = { expectedUs: word(), launches: word() };

export const holdView = {
  nowNs: count(),
  slot: word("of this client"),
  held: flag("its pause flag is not 0"),
  launchesOut: count("submitted by this client and not known finished, in streams that move"),
  outNs: count("the same as time"),
  stands: flag("work is in streams that stand still, because the GPU waits for the program there"),
  callersWaiting: word("threads of the program that are blocked because its work is held"),
  far: count("changes when the GPU passes a border of the client, or a gate in a graph"),
  stopsInside: flag("a launch is out that stops inside if the word is set, where no mark tells it"),
  progressedNs: count(
    "since this client's last minimum progress began; if there was none, a very long time",
  ),
  waiting: word("a bit per slot of the GPU's best-effort clients: it has work to run"),
  turn: word("the slot whose turn it is"),
  turnNs: count("how long it has been"),
};

const turnDecision = {
  action: kindOf("TurnAction"),
  to: word("with give"),
};

const holdDecision = {
  action: kindOf("HoldAction"),
  next: kindOf("NextLook", "how to wait for the next poll"),
  againNs: count("the time until the next poll"),
  waiting: flag("the client's bit in `waiting`"),
  progresses: flag("minimum progress, or a chunk concurrent with a request, begins: note the time"),
  counts: flag("it is minimum progress: count it"),
  lookForAbsent: flag("the pause is so long that its cause may have died"),
  emptyNs: count("of the time since the last poll: the client had no work"),
  turnNs: count("of that time: it waited for its turn"),
  heldNs: count("of that time: it was held by a request or paused by the agent"),
  releasedNs: count("its queued-ahead work now"),
};

export const gateStructs = {
  GateView: { doc: "The view of a best-effort client at one moment.", fields: gateView },
  Item: { doc: "One launch, copy or graph about to be submitted.", fields: gateItem },
  Chunk: { doc: "The work since the last border.", fields: gateChunk },
  HoldView: { doc: "The view of the helper thread at one poll.", fields: holdView },
  TurnDecision: { doc: "The decision of a poll about the turn.", fields: turnDecision },
  HoldDecision: { doc: "The decision of a poll about the word.", fields: holdDecision },
};

const { action: hold, ...rest } = holdDecision;
/** `seen` of a HoldView is for release(); what lasts is computed from the state. */
export const lookInput = { ...holdView, ...gateView };
export const lookOutput = { turn: turnDecision.action, turnTo: turnDecision.to, hold, ...rest };
export const LOOK_STATE = 12; // doubles that hold the bytes of a HoldState between polls
