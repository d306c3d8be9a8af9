// SVG and HTML as text; whatever goes in as text or attribute comes out escaped.

export type Markup = string & { readonly __markup: true };

const escaped = (text: string): string =>
  text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");

export const words = (text: string): Markup => escaped(text) as Markup;
export const joined = (parts: readonly Markup[]): Markup => parts.join("\n") as Markup;

export function element(
  name: string,
  attributes: Readonly<Record<string, string | number>>,
  ...inside: readonly Markup[]
): Markup {
  const written = Object.entries(attributes).map(([key, value]) => {
    const text = typeof value === "number" ? String(Math.round(value * 100) / 100) : escaped(value);
    return ` ${key}="${text}"`;
  });
  return `<${name}${written.join("")}>${inside.join("")}</${name}>` as Markup;
}
