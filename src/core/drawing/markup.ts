export type Markup = string & { readonly __markup: true };

export type Attributes = Readonly<Record<string, string | number>>;

export function element(name: string, attributes: Attributes, ...inside: readonly Markup[]) {
  return `<${name}${written(attributes)}>${inside.join("")}</${name}>` as Markup;
}

export const written = (attributes: Attributes): string =>
  Object.entries(attributes)
    .map(
      ([key, value]) =>
        ` ${key}="${typeof value === "number" ? short(value) : escapeMarkup(value)}"`,
    )
    .join("");

export const words = (text: string): Markup => escapeMarkup(text) as Markup;
export const short = (value: number): string => String(Math.round(value * 100) / 100);

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
};

/** XML forbids most control characters and halves of surrogate pairs, even escaped. */
const forbidden = /[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu;

const escapeMarkup = (text: string): string =>
  text.replace(forbidden, "\ufffd").replace(/[&<>"]/g, (one) => entities[one] ?? one);
