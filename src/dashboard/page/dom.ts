// Text never goes in as markup. Elements change in place: focus, selection and scrolling stay.

export function byId(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (!found) throw new Error(`no element #${id}`);
  return found;
}

export function make<K extends keyof HTMLElementTagNameMap>(
  name: K,
  className = "",
  ...inside: readonly (Node | string)[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(name);
  if (className) element.className = className;
  element.append(...inside);
  return element;
}

export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

export function setClass(element: Element, className: string): void {
  if (element.className !== className) element.className = className;
}

export interface Shown<T> {
  readonly element: HTMLElement;
  update(value: T): void;
}

export class Keyed<T> {
  readonly #parent: HTMLElement;
  readonly #keyOf: (value: T) => string;
  readonly #make: (value: T) => Shown<T>;
  readonly #shown = new Map<string, Shown<T>>();

  constructor(parent: HTMLElement, keyOf: (value: T) => string, make: (value: T) => Shown<T>) {
    this.#parent = parent;
    this.#keyOf = keyOf;
    this.#make = make;
  }

  update(values: readonly T[]): void {
    const keys = new Set(values.map(this.#keyOf));
    for (const [key, { element }] of this.#shown)
      if (!keys.has(key)) {
        element.remove();
        this.#shown.delete(key);
      }
    values.forEach((value, i) => {
      const key = this.#keyOf(value);
      const shown = this.#shown.get(key) ?? this.#make(value);
      this.#shown.set(key, shown);
      shown.update(value);
      if (this.#parent.children[i] !== shown.element)
        this.#parent.insertBefore(shown.element, this.#parent.children[i] ?? null);
    });
  }
}

export const texts = (parent: HTMLElement): Keyed<string> =>
  new Keyed(
    parent,
    (text) => text,
    (text) => ({ element: make("li", "", text), update() {} }),
  );

export const clockTime = (time: number): string =>
  new Date(time).toLocaleTimeString([], { hour12: false });
