// The page in a real browser, with a real agent: what it shows is what `status --json` says, and what it says when the agent
// is gone, was started again, or does not accept its token.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import type { Agent } from "#agent";
import { micros, ms, percent } from "#core";
import type { ClientClass } from "#protocol";
import { attach, gpuA, gpuB } from "../agent/fakes.ts";
import { agentHere, agentWithTwo } from "./agent.ts";
import { closeBrowser, hasBrowser, visit } from "./browser.ts";
import { contrastIn } from "./contrast.ts";

const SHOWN_WITHIN = { timeout: 300_000 };
afterAll(closeBrowser);

const urlOf = ({ file }: Agent, token = file.token) =>
  `http://127.0.0.1:${file.port}/dashboard#${token}`;

/** Processes that take so many slots and keep them. */
async function takePlaces(socket: string, kind: ClientClass, count: number, gpu: Uint8Array) {
  const hex = Buffer.from(gpu).toString("hex");
  const child = spawn("build/native/tests/places", [socket, kind, `${count}`, hex]);
  const leave = () => void child.stdin.end();
  onTestFinished(leave);
  let taken = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    expect(line).toBe("taken");
    if (++taken === count) break;
  }
  return leave;
}

describe.skipIf(!hasBrowser)("the page", () => {
  test("shows the numbers of the status, with a name as text, and leaves no token behind", async () => {
    const { agent } = await agentWithTwo();
    const { page, asked, said } = await visit(urlOf(agent));
    await page.locator(".card").nth(1).waitFor(SHOWN_WITHIN);
    const figures = await page
      .locator(".card")
      .evaluateAll((cards) =>
        cards.map((card) =>
          Object.fromEntries(
            [...card.querySelectorAll("dl > div")].map(({ children: [term, value] }) => [
              term?.textContent,
              value?.textContent,
            ]),
          ),
        ),
      );
    const answer = await fetch(`http://127.0.0.1:${agent.file.port}/status`, {
      headers: { authorization: `Bearer ${agent.file.token}` },
    });
    const [gpu] = ((await answer.json()) as ReturnType<Agent["status"]>).gpus;
    const [high, bestEffort] = [gpu?.high[0], gpu?.bestEffort[0]];
    if (!high || !bestEffort) throw new Error("no client");
    expect(high.burstP99Us).toBeGreaterThan(2900);
    expect(figures).toEqual([
      expect.objectContaining({
        "p99 now": micros(high.burstP99Us),
        "p50 now": micros(high.burstP50Us),
        waited: micros(high.burstWaitP99Us),
        bursts: `${high.burstsPerS.toFixed(1)} /s`,
        active: percent(high.activeShare),
        objective: "10 %",
      }),
      expect.objectContaining({
        keeps: percent(bestEffort.keptShare ?? Number.NaN),
        runs: percent(bestEffort.gpuShare),
        held: percent(bestEffort.heldShare),
        ahead: micros(bestEffort.aheadUs),
      }),
    ]);
    expect(await page.locator(".sentence").textContent()).toBe(
      `serve has a p99 of ${micros(high.burstP99Us)}; its slowdown is not known yet, objective 10 %: this policy does not act on it; <b>train</b> retains ${percent(bestEffort.keptShare ?? Number.NaN)}.`,
    );
    expect(await page.locator("h4").allTextContents()).toEqual(["serve", "<b>train</b>"]);
    expect(await page.locator("tbody tr").first().locator("td").nth(3).textContent()).toContain(
      "900 us of <b>train</b> was queued ahead",
    );
    expect(await page.locator(".means").textContent()).toMatch(
      /^On average service 1 %, best-effort \d\d %, held \d %, idle \d\d %$/,
    );
    expect(page.url()).not.toContain(agent.file.token);
    expect(asked.join(" ")).not.toContain(agent.file.token);
    const hosts = new Set(asked.map((line) => new URL(line.split(" ")[1] ?? "").host));
    hosts.delete(""); // the empty icon, as data:
    expect([...hosts]).toEqual([`127.0.0.1:${agent.file.port}`]);
    expect(said).toEqual([]);
  });

  test("shows a service on two GPUs as one, with its part of each", async () => {
    const { agent, clock, socket } = await agentHere();
    for (const gpu of [gpuA, gpuB]) await attach(socket, { class: "high", name: "llm", gpu });
    clock.advance(ms(1000));
    const { page } = await visit(urlOf(agent));
    await page.locator(".card").first().waitFor(SHOWN_WITHIN);
    expect(await page.locator("#cards h3").allInnerTexts()).toEqual([
      expect.stringContaining("Jobs on several GPUs"),
      ...Array(2).fill(expect.stringContaining("Fake GPU")),
    ]);
    expect(await page.locator(".card .owner").allInnerTexts()).toEqual([
      expect.stringMatching(/^1 process on 2 GPUs, uid /),
    ]);
    const lines = await page.locator("#cards .notes li").allInnerTexts();
    const fares = `(pid ${process.pid}|pid ${process.pid} of 1 process on 2 GPUs,) active 0.0 %, p99 -`;
    expect(lines).toEqual([
      expect.stringMatching(new RegExp(`^GPU 0: ${fares}$`)),
      expect.stringMatching(new RegExp(`^GPU 1: ${fares}$`)),
      ...Array(2).fill(expect.stringMatching(new RegExp(`^llm, high: ${fares}$`))),
    ]);
  });

  test("has landmarks, headings in order, and charts that speak and follow the arrow keys", async () => {
    const { agent } = await agentWithTwo();
    const { page } = await visit(urlOf(agent));
    const chart = page.getByRole("img");
    await chart.waitFor(SHOWN_WITHIN);
    expect(await chart.getAttribute("aria-label")).toMatch(/^On average service 1 %/);
    await chart.focus();
    await page.keyboard.press("ArrowLeft");
    await expect
      .poll(() => page.locator(".point").textContent(), SHOWN_WITHIN)
      .toMatch(/^\d\d:\d\d:\d\d: service 1 %, best-effort 60 %, held 9 %, idle 30 %$/);
    expect(await page.getByRole("main").count()).toBe(1);
    const levels = await page
      .locator("h1,h2,h3,h4")
      .evaluateAll((all) =>
        all.filter((one) => one.checkVisibility()).map(({ tagName }) => Number(tagName[1])),
      );
    levels.forEach((level, i) => {
      expect(level - (levels[i - 1] ?? 0)).toBeLessThanOrEqual(1);
    });
    await page.getByRole("button", { name: "24 h" }).click();
    expect(await page.getByRole("button", { name: "24 h" }).getAttribute("aria-pressed")).toBe(
      "true",
    );
    expect(await page.getByRole("button", { name: "later" }).isDisabled()).toBe(true);
  });

  test.each([390, 1280])("is not wider than a screen of %i", async (width) => {
    const { agent } = await agentWithTwo();
    const { page } = await visit(urlOf(agent), { viewport: { width, height: 800 } });
    await page.locator(".uplot").waitFor(SHOWN_WITHIN);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(width);
  });

  test.each(["light", "dark"] as const)("has enough contrast in %s", async (colorScheme) => {
    const { agent } = await agentWithTwo();
    const { page } = await visit(urlOf(agent), { colorScheme });
    await page.locator(".card").first().waitFor(SHOWN_WITHIN);
    const contrast = await contrastIn(page);
    for (const ground of ["ground", "raised", "bad-ground"])
      for (const ink of ["ink", "quiet", "link", "bad", "good"])
        expect(contrast(ink, ground), `${ink} on ${ground}`).toBeGreaterThan(4.5);
  });

  test("says that the token is wrong, or missing, and what to run", async () => {
    const { agent } = await agentHere();
    const { page } = await visit(urlOf(agent, "wrong"));
    const connection = page.locator("#connection");
    await connection.getByText("does not accept this token").waitFor(SHOWN_WITHIN);
    expect(await connection.textContent()).toContain("cotenant dashboard");
    expect(await page.locator("#now").isVisible()).toBe(false);
    const without = await visit(`http://127.0.0.1:${agent.file.port}/dashboard`);
    await without.page.getByText("This page needs the agent's token").waitFor(SHOWN_WITHIN);
  });

  test("says since when its data is old while the agent is gone, then that its token is, and goes on with the new one", async () => {
    const { agent, directory } = await agentHere();
    const { page } = await visit(urlOf(agent));
    const connection = page.locator("#connection");
    await connection.getByText("Live").waitFor(SHOWN_WITHIN);
    await agent.stop("the test wants it");
    await connection.getByText("The agent does not answer").waitFor(SHOWN_WITHIN);
    expect(await connection.textContent()).toMatch(/What is shown is from \d\d:\d\d:\d\d\.$/);
    const { agent: next } = await agentHere(directory, agent.file.port);
    await connection.getByText("has a new token").waitFor(SHOWN_WITHIN);
    expect(await connection.textContent()).toContain("cotenant dashboard");
    await page.goto(urlOf(next));
    await connection.getByText("Live").waitFor(SHOWN_WITHIN);
    await page.reload();
    await connection.getByText("Live").waitFor(SHOWN_WITHIN);
  });

  test("shows 200 clients on three GPUs, and takes them away again", async () => {
    const { agent, clock, socket } = await agentHere();
    // High clients that come later have no control pages to map: these would never say that they have.
    for (const gpu of [gpuA, gpuB]) {
      await takePlaces(socket, "best-effort", 16, gpu);
      await takePlaces(socket, "high", 64, gpu);
    }
    const others = await takePlaces(socket, "high", 40, new Uint8Array(16).fill(7));
    clock.advance(ms(2000));
    const { page, said } = await visit(urlOf(agent));
    await page.locator(".card").nth(199).waitFor(SHOWN_WITHIN);
    expect(await page.locator(".card").count()).toBe(200);
    expect(await page.locator(".sentence").first().textContent()).toContain("61 more services");
    others();
    await expect
      .poll(async () => {
        clock.advance(ms(1000));
        return await page.locator(".card").count();
      }, SHOWN_WITHIN)
      .toBe(160);
    expect(said).toEqual([]);
  });
});

test("its files are small, and ask for nothing from elsewhere", () => {
  const files = ["index.html", "page.js", "page.css"].map((name) =>
    readFileSync(`dist/dashboard/${name}`, "utf8"),
  );
  expect(files.reduce((sum, text) => sum + Buffer.byteLength(text), 0)).toBeLessThan(150_000);
  for (const text of files) expect(text).not.toMatch(/https?:\/\/(?!www\.w3\.org)/);
});
