// Elements of SVG files as text.
import { type Attributes, type Markup, written } from "#core";

/** An element of an SVG file: one child a line, without an end tag where nothing is inside. */
export function svgElement(name: string, attributes: Attributes, ...inside: readonly Markup[]) {
  const open = `<${name}${written(attributes)}`;
  const lines = inside.some((one) => one.startsWith("<"));
  if (inside.length === 0) return `${open}/>` as Markup;
  return (lines
    ? `${open}>\n${inside.join("\n")}\n</${name}>`
    : `${open}>${inside.join("")}</${name}>`) as unknown as Markup;
}
