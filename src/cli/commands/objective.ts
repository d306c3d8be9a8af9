import { type HighStatus, isCalled, type ObjectiveChange, objectiveIn, stateInWords } from "#agent";
import { askStatus, askToState, ownAgentHere } from "#client";
import { errors, usage } from "#core";
import { objectiveTexts, parseObjective } from "#policy";
import { command, json } from "../program/command.ts";

const NONE = "none";

export const objectiveCommand = command({
  name: "objective",
  summary: "show or change the objective of a high client that runs",
  options: { json },
  positional: {
    name: "NAME|PID OBJECTIVE…",
    doc: "a high client, and what it is to have in place of its objective: such as ttft.p99=200ms tpot.p99=50ms, or none; shown if left out",
    atLeast: 1,
  },
  examples: [
    "cotenant objective llm",
    "cotenant objective llm ttft.p99=200ms tpot.p99=50ms",
    "cotenant objective serve none",
  ],
  async run({ positional: [called = "", ...texts], ...args }) {
    if (texts.length > 1 && texts.includes(NONE))
      throw usage(`"${NONE}" takes the objective away: it stands alone.`);
    const { agent } = ownAgentHere();
    const found =
      texts.length === 0
        ? (await askStatus(agent)).gpus.flatMap(({ uuid, high }) =>
            high.filter((client) => isCalled(client, called)).map((one) => shown(one, uuid)),
          )
        : await askToState(agent, called, texts[0] === NONE ? [] : checked(texts));
    if (found.length === 0) throw errors.noHighClient(called);
    if (args.json) console.log(JSON.stringify(found));
    else for (const one of found) console.log(describe(one));
    return 0;
  },
});

function checked(texts: readonly string[]): readonly string[] {
  parseObjective(texts, "objective");
  return texts;
}

interface Shown extends ObjectiveChange {
  /** undefined if it is not known, as of an objective that was just changed. */
  readonly state?: string | undefined;
  readonly level?: number | undefined;
}

const shown = (client: HighStatus, gpu: string): Shown => ({
  name: client.name,
  pid: client.pid,
  gpu,
  objective: objectiveTexts(objectiveIn(client)),
  state: client.objective && stateInWords[client.objective.state],
  level: client.objective?.level,
});

function describe({ name, pid, objective, state, level }: Shown): string {
  const found = state === undefined ? "" : `: ${state}, level ${level}`;
  return `${name} (pid ${pid}): ${objective.length > 0 ? objective.join(" ") : "no objective"}${found}`;
}
