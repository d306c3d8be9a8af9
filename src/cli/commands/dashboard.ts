import { spawn } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { pathsIn } from "#agent";
import { ownAgentHere } from "#client";
import { element, tryWrite } from "#core";
import { command, flag } from "../program/command.ts";

const OPENER = "xdg-open";

export const dashboardCommand = command({
  name: "dashboard",
  summary: "print the URL of the agent's dashboard, which holds its token",
  options: { open: flag(`open it in a browser with ${OPENER}`) },
  examples: ["cotenant dashboard", "cotenant dashboard --open"],
  async run({ open }) {
    const { directory, agent } = ownAgentHere();
    const url = `http://127.0.0.1:${agent.port}/dashboard#${agent.token}`;
    console.log(url);
    if (open) await openInBrowser(pathsIn(directory).dashboard, url);
    return 0;
  },
});

/** All users can read the command line of the opener: the URL is in a file of this user alone. */
async function openInBrowser(path: string, url: string): Promise<void> {
  const page = element("meta", { "http-equiv": "refresh", content: `0;url=${url}` });
  tryWrite(path, () => {
    rmSync(path, { force: true });
    writeFileSync(path, page, { mode: 0o600, flag: "wx" });
  });
  const child = spawn(OPENER, [path], { detached: true, stdio: "ignore" });
  const because = await new Promise<string | undefined>((resolve) => {
    child.once("spawn", () => resolve(undefined));
    child.once("error", ({ message }) => resolve(message));
  });
  child.unref();
  if (because)
    console.error(`cotenant: ${OPENER} can't be started (${because}): open the URL yourself.`);
}
