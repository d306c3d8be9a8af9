// Nodes that no pass has changed are copied from the source with layout and comments, so that line
// numbers in debug sections stay correct. Others are printed from the tree, one statement a line.
import { skip } from "./cursor.ts";
import type {
  Block,
  Declarator,
  Func,
  Instruction,
  Item,
  Module,
  Operand,
  Spanned,
  Statement,
  Variable,
  Verbatim,
} from "./syntax.ts";

export function print(module: Module): string {
  return printModule(module, module.source);
}

/** It has our own layout and no comments, and assembles to the same instructions. */
export function printPlain(module: Module): string {
  return printModule(module, undefined);
}

function printModule(module: Module, source: string | undefined): string {
  const out: Output = { source, parts: [], from: 0, upTo: 0 };
  for (const item of module.items) printItem(item, out);
  if (source !== undefined && onlyBlanks(source, out.upTo, source.length)) copy(out, source.length);
  else put(out, "\n");
  flush(out);
  return out.parts.join("");
}

/** `from` to `upTo` of the source is to be copied; `upTo` is -1 behind text from elsewhere. */
interface Output {
  readonly source: string | undefined;
  readonly parts: string[];
  from: number;
  upTo: number;
}

function put(out: Output, text: string): void {
  flush(out);
  out.parts.push(text);
  out.upTo = -1;
}

function flush(out: Output): void {
  if (out.source !== undefined && out.upTo > out.from)
    out.parts.push(out.source.slice(out.from, out.upTo));
}

const copy = (out: Output, upTo: number) => {
  out.upTo = upTo;
};

function copySource(out: Output, source: string, from: number, upTo: number, indent: string): void {
  if (out.upTo < 0 || !onlyBlanks(source, out.upTo, from)) {
    put(out, `\n${indent}`);
    out.from = from;
  }
  copy(out, upTo);
}

const SEMICOLON = 59;

function onlyBlanks(source: string, from: number, upTo: number): boolean {
  if (from > upTo) return false;
  const cursor = { text: source, at: from };
  while (cursor.at < upTo) {
    const c = skip(cursor);
    if (cursor.at >= upTo) break;
    if (c !== SEMICOLON) return false;
    cursor.at += 1;
  }
  return true;
}

function asRead(out: Output, { at, end }: Spanned, indent: string): boolean {
  if (out.source === undefined || at < 0) return false;
  copySource(out, out.source, at, end, indent);
  return true;
}

function printItem(item: Item, out: Output): void {
  if (item.kind === "function") printFunction(item, out);
  else if (!asRead(out, item, ""))
    put(out, `\n${item.kind === "verbatim" ? item.text : `${printVariable(item)};`}`);
}

function printFunction(func: Func, out: Output): void {
  const { at, end, bodyAt, bodyRead, body } = func;
  const asWas = out.source !== undefined && at >= 0;
  if (asWas && body === bodyRead) {
    copySource(out, out.source, at, end, "");
    return;
  }
  if (asWas) copySource(out, out.source, at, bodyAt, "");
  else put(out, `\n${header(func)}${body === undefined ? ";" : "\n{"}`);
  if (body === undefined) return;
  printBody(body, INDENT, out);
  if (asWas) copySource(out, out.source, end - 1, end, "");
  else put(out, "\n}");
}

function header(func: Func): string {
  const { linkage, entry, attributes, returns, name, params, directives } = func;
  const head = words(linkage, entry ? ".entry" : ".func", attributes);
  const result = returns.length > 0 ? ` (${returns.map(printVariable).join(", ")})` : "";
  const given = params.map((one) => `\n\t${printVariable(one)}`).join(",");
  const behind = directives.map(
    (one) => `\n${words(one.name, one.text)}${one.name === ".pragma" ? ";" : ""}`,
  );
  return `${head}${result} ${name}(${given}${given === "" ? "" : "\n"})${behind.join("")}`;
}

function printBody(body: readonly Statement[], indent: string, out: Output): void {
  for (const one of body) {
    if (one.kind === "block") printBlock(one, indent, out);
    else if (one.kind === "label") {
      if (!asRead(out, one, "")) put(out, `\n${one.name}:`);
    } else if (!asRead(out, one, indent)) put(out, printStatement(one, indent));
  }
}

function printBlock({ at, end, body }: Block, indent: string, out: Output): void {
  const asWas = out.source !== undefined && at >= 0;
  if (asWas) copySource(out, out.source, at, at + 1, indent);
  else put(out, `\n${indent}{`);
  printBody(body, `${indent}\t`, out);
  if (asWas) copySource(out, out.source, end - 1, end, indent);
  else put(out, `\n${indent}}`);
}

const INDENT = "\t";

function printStatement(one: Instruction | Variable | Verbatim, indent: string): string {
  const known = indent === INDENT ? kept.get(one) : undefined;
  if (known !== undefined) return known;
  if (one.kind === "instruction") return `\n${indent}${printInstruction(one)}`;
  return `\n${indent}${one.kind === "variable" ? `${printVariable(one)};` : one.text}`;
}

export function printOnce(one: Statement): void {
  if (one.kind !== "block" && one.kind !== "label") kept.set(one, printStatement(one, INDENT));
}

const kept = new WeakMap<Statement, string>();

function printVariable(variable: Variable): string {
  const { linkage, space, attributes, align, vector, type, qualifiers, names } = variable;
  return words(
    linkage,
    `.${space}`,
    attributes,
    align === undefined ? "" : `.align ${align}`,
    vector === 1 ? "" : `.v${vector}`,
    `.${type}`,
    qualifiers,
    names.map(printDeclarator).join(", "),
  );
}

function printDeclarator({ name, count, dims, init }: Declarator): string {
  const sizes = dims.map((one) => `[${one}]`).join("");
  return `${name}${count === undefined ? "" : `<${count}>`}${sizes}${init === undefined ? "" : ` = ${init}`}`;
}

const words = (...all: readonly string[]) => all.filter((one) => one !== "").join(" ");

function printInstruction({ predicate, operation, operands }: Instruction): string {
  let text =
    predicate === undefined ? "" : `@${predicate.negated ? "!" : ""}${predicate.register} `;
  text += operation.text;
  for (let i = 0; i < operands.length; i += 1) {
    const one = operands[i];
    if (one !== undefined) text += (i === 0 ? " " : ", ") + printOperand(one);
  }
  return `${text};`;
}

function printOperand(operand: Operand): string {
  switch (operand.kind) {
    case "name":
      return operand.name;
    case "immediate":
    case "raw":
      return operand.text;
    case "sum":
      return operand.name + operand.offset;
    case "memory": {
      const { base, offset, rest } = operand;
      const address = (base.kind === "name" ? base.name : base.text) + offset;
      return rest.length === 0 ? `[${address}]` : `[${address}, ${printAll(rest)}]`;
    }
    case "vector":
      return `{${printAll(operand.elements)}}`;
    case "list":
      return `(${printAll(operand.elements)})`;
    case "pair":
      return `${printOperand(operand.first)}|${printOperand(operand.second)}`;
    case "not":
      return `!${operand.operand.name}`;
  }
}

const printAll = (operands: readonly Operand[]) => operands.map(printOperand).join(", ");
