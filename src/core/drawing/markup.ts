// SVG and HTML as text. Whatever goes in as text or attribute comes out escaped.

export type Markup = string & { readonly __markup: true };

type Attributes = Readonly<Record<string, string | number>>;

/** An element of HTML, or of SVG within it: on one line, with an end tag. */
export function element(name: string, attributes: Attributes, ...inside: readonly Markup[]) {
  return `<${name}${written(attributes)}>${inside.join("")}</${name}>` as Markup;
}

/** An element of an SVG file: one child a line, without an end tag where nothing is inside. */
export function svgElement(name: string, attributes: Attributes, ...inside: readonly Markup[]) {
  const open = `<${name}${written(attributes)}`;
  const lines = inside.some((one) => one.startsWith("<"));
  if (inside.length === 0) return `${open}/>` as Markup;
  return (lines
    ? `${open}>\n${inside.join("\n")}\n</${name}>`
    : `${open}>${inside.join("")}</${name}>`) as unknown as Markup;
}

const written = (attributes: Attributes): string =>
  Object.entries(attributes)
    .map(
      ([key, value]) =>
        ` ${key}="${typeof value === "number" ? short(value) : escapeMarkup(value)}"`,
    )
    .join("");

export const words = (text: string): Markup => escapeMarkup(text) as Markup;

/** Parts that follow each other, a line each. */
export const joinMarkup = (parts: readonly Markup[]): Markup => parts.join("\n") as Markup;

/** A number to two decimal places. */
export const short = (value: number): string => String(Math.round(value * 100) / 100);

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
};

/** XML forbids most control characters and halves of surrogate pairs, even escaped. */
const forbidden = /[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu;

export const escapeMarkup = (text: string): string =>
  text.replace(forbidden, "\ufffd").replace(/[&<>"]/g, (one) => entities[one] ?? one);
