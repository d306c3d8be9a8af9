import type { Declarator, Func, Item, Label, Module, Statement, Variable } from "./syntax.ts";

export interface Declaration {
  readonly variable: Variable;
  readonly declarator: Declarator;
}

export interface LabelScope {
  readonly outer: LabelScope | undefined;
  readonly labels: ReadonlyMap<string, Label>;
}

export interface Scope extends LabelScope {
  readonly outer: Scope | undefined;
  readonly variables: ReadonlyMap<string, Declaration>;
  /** The key of a declaration such as `%r<10>` is its prefix "%r". */
  readonly families: ReadonlyMap<string, Declaration>;
  readonly functions: ReadonlyMap<string, Func>;
}

export type Twice = (name: string, at: number) => void;

export const moduleScope = (module: Module): ModuleScope =>
  module.analyses.of(module.items, moduleScopeOf);

const moduleScopeOf = (items: readonly Item[]): ModuleScope => ({
  ...scopeOf(items),
  shared: items.filter(isShared),
});

export interface ModuleScope extends Scope {
  readonly shared: readonly Variable[];
}

export const isShared = (one: Item | Statement): one is Variable =>
  one.kind === "variable" && one.space === "shared";

export function scopeOf(items: readonly Item[], twice?: Twice): Scope {
  const scope = empty(undefined);
  for (const item of items) {
    if (item.kind === "variable") declare(scope, item, twice);
    else if (item.kind === "function") {
      const known = scope.functions.get(item.name);
      if (known?.body !== undefined && item.body !== undefined) twice?.(item.name, item.at);
      if (known?.body === undefined) scope.functions.set(item.name, item);
    }
  }
  return scope;
}

/** Parameters and body share one scope. */
export function functionScope(func: Func, outer: Scope | undefined, twice?: Twice): Scope {
  const scope = empty(outer);
  for (const one of func.returns) declare(scope, one, twice);
  for (const one of func.params) declare(scope, one, twice);
  fill(scope, func.body ?? [], twice);
  return scope;
}

export function blockScope(
  body: readonly Statement[],
  outer: Scope | undefined,
  twice?: Twice,
): Scope {
  const scope = empty(outer);
  fill(scope, body, twice);
  return scope;
}

export function labelScope(body: readonly Statement[], outer: LabelScope | undefined): LabelScope {
  const labels = new Map<string, Label>();
  for (const one of body) if (one.kind === "label") labels.set(one.name, one);
  return { outer, labels };
}

export function findVariable(scope: Scope | undefined, name: string): Declaration | undefined {
  for (let at = scope; at !== undefined; at = at.outer) {
    const found = declarationIn(at, name);
    if (found !== undefined) return found;
  }
  return undefined;
}

export const declarationIn = (scope: Scope, name: string): Declaration | undefined =>
  scope.variables.get(name) ?? member(scope.families, name);

export function findLabel(scope: LabelScope | undefined, name: string): Label | undefined {
  for (let at = scope; at !== undefined; at = at.outer) {
    const found = at.labels.get(name);
    if (found !== undefined) return found;
  }
  return undefined;
}

export function findFunction(scope: Scope | undefined, name: string): Func | undefined {
  for (let at = scope; at !== undefined; at = at.outer) {
    const found = at.functions.get(name);
    if (found !== undefined) return found;
  }
  return undefined;
}

interface Growing extends Scope {
  readonly variables: Map<string, Declaration>;
  readonly families: Map<string, Declaration>;
  readonly labels: Map<string, Label>;
  readonly functions: Map<string, Func>;
}

const empty = (outer: Scope | undefined): Growing => ({
  outer,
  variables: new Map(),
  families: new Map(),
  labels: new Map(),
  functions: new Map(),
});

function fill(scope: Growing, body: readonly Statement[], twice?: Twice): void {
  for (const one of body) {
    if (one.kind === "variable") declare(scope, one, twice);
    else if (one.kind === "label") {
      if (scope.labels.has(one.name)) twice?.(one.name, one.at);
      scope.labels.set(one.name, one);
    }
  }
}

function declare(scope: Growing, variable: Variable, twice?: Twice): void {
  for (const declarator of variable.names) {
    const table = declarator.count === undefined ? scope.variables : scope.families;
    const known = table.get(declarator.name);
    if (known !== undefined && !repeats(known.variable, variable))
      twice?.(declarator.name, variable.at);
    table.set(declarator.name, { variable, declarator });
  }
}

/** An `.extern` declaration may stand beside the definition, and twice. */
const repeats = (one: Variable, other: Variable) =>
  one.linkage === ".extern" || other.linkage === ".extern";

/** %r12 of `%r<103>`; "%r1<5>" declares %r10 to %r14, so every split of the digits is tried. */
function member(families: ReadonlyMap<string, Declaration>, name: string): Declaration | undefined {
  if (families.size === 0) return undefined;
  for (let at = name.length - 1; at > 0; at -= 1) {
    const c = name.charCodeAt(at);
    if (c < 48 || c > 57) return undefined;
    const found = families.get(name.slice(0, at));
    if (found?.declarator.count === undefined) continue;
    const index = name.slice(at);
    const canonical = index.length === 1 || index[0] !== "0";
    if (canonical && Number(index) < found.declarator.count) return found;
  }
  return undefined;
}
