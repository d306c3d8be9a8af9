// The page's files hold no data, so a browser gets them without a token.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "#core";

const types = {
  "index.html": "text/html; charset=utf-8",
  "page.js": "text/javascript; charset=utf-8",
  "page.css": "text/css; charset=utf-8",
} as const;

type FileName = keyof typeof types;
const pageFileNames = Object.keys(types) as readonly FileName[];

export interface PageFile {
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Scripts, styles and data come from the agent only; no other page may frame this one. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

export function readPageFiles(): ReadonlyMap<string, PageFile> {
  return new Map(pageFileNames.flatMap((name) => pageFile(name) ?? []));
}

function pageFile(name: FileName): [string, PageFile][] | undefined {
  try {
    const text = readFileSync(join(packageRoot(), "dist/dashboard", name), "utf8");
    const headers = {
      "content-type": types[name],
      "content-security-policy": policy,
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      "cross-origin-opener-policy": "same-origin",
      "cross-origin-resource-policy": "same-origin",
      "cache-control": "no-store",
      connection: "close",
    };
    return [[name, { text, headers }]];
  } catch {
    return undefined; // not bundled
  }
}
