// SVG as text. Whatever goes in as text or attribute comes out escaped.

export type Svg = string & { readonly __unit: "svg" };

export function element(
  name: string,
  attributes: Readonly<Record<string, string | number>>,
  ...inside: readonly Svg[]
): Svg {
  const written = Object.entries(attributes).map(
    ([key, value]) => ` ${key}="${escapeXml(typeof value === "number" ? short(value) : value)}"`,
  );
  const open = `<${name}${written.join("")}`;
  const lines = inside.some((one) => one.startsWith("<"));
  if (inside.length === 0) return `${open}/>` as Svg;
  return (lines
    ? `${open}>\n${inside.join("\n")}\n</${name}>`
    : `${open}>${inside.join("")}</${name}>`) as unknown as Svg;
}

export const words = (text: string): Svg => escapeXml(text) as Svg;

export const short = (value: number): string => String(Math.round(value * 100) / 100);

const marks: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
};

/** XML forbids most control characters and halves of surrogate pairs, even escaped. */
const forbidden = /[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu;

const escapeXml = (text: string): string =>
  text.replace(forbidden, "\ufffd").replace(/[&<>"]/g, (mark) => marks[mark] ?? mark);
