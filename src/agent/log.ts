// One line per decision: what happened, to whom, because of what.

export type Log = (event: string, facts?: Readonly<Record<string, string | number>>) => void;

/** `attached client="serve" class=high pid=42`; text is quoted when it holds more than one word. */
export const logLine: (...decision: Parameters<Log>) => string = (event, facts = {}) =>
  [event, ...Object.entries(facts).map(([key, value]) => `${key}=${quoted(value)}`)].join(" ");

const quoted = (value: string | number) =>
  typeof value === "number" || /^[\w.:/-]+$/.test(value) ? String(value) : JSON.stringify(value);
