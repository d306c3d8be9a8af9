// A real browser for tests of the page: Debian's chromium.
import { existsSync } from "node:fs";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { onTestFinished } from "vitest";

const CHROMIUM = "/usr/bin/chromium";

export const hasBrowser = existsSync(CHROMIUM);
if (!hasBrowser)
  console.warn(
    `SKIPPED: tests of pages and pictures in a browser, because ${CHROMIUM} is missing (Debian: apt-get install chromium).`,
  );

export interface Visit {
  readonly page: Page;
  /** The page's requests, by method and URL, and its output on the console. */
  readonly asked: readonly string[];
  readonly said: readonly string[];
}

let browser: Promise<Browser> | undefined;

/** A tab of its own, at this URL. */
export async function visit(url: string, options: BrowserContextOptions = {}): Promise<Visit> {
  // A root user, as in CI, has no sandbox in chromium.
  browser ??= chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
  const context = await (await browser).newContext(options);
  onTestFinished(() => context.close());
  const page = await context.newPage();
  const [asked, said]: [string[], string[]] = [[], []];
  page.on("request", (request) => asked.push(`${request.method()} ${request.url()}`));
  page.on("console", (message) => said.push(message.text()));
  page.on("pageerror", (error) => said.push(String(error)));
  await page.goto(url);
  return { page, asked, said };
}

export const closeBrowser = async (): Promise<void> => {
  await (await browser)?.close();
  browser = undefined;
};
