const MAX_CHARACTERS = 60;

/** Names of the Itanium C++ ABI (5.1) become "at::native::reduce_kernel"; others stay. */
export function kernelTitle(name: string): string | undefined {
  const title = nestedName(name) ?? name;
  if (title === "") return undefined;
  return title.length > MAX_CHARACTERS ? `${title.slice(0, MAX_CHARACTERS - 1)}…` : title;
}

function nestedName(mangled: string): string | undefined {
  if (!mangled.startsWith("_Z")) return undefined;
  const parts: string[] = [];
  // "_ZN" and "_ZL" begin nested and local names; "12_GLOBAL__N_1…" is an anonymous namespace.
  let at = /^_Z[NKL]*/.exec(mangled)?.[0].length ?? 0;
  for (;;) {
    const [digits] = /^\d+/.exec(mangled.slice(at)) ?? [];
    if (digits === undefined) break;
    const from = at + digits.length;
    at = from + Number(digits);
    const part = mangled.slice(from, at);
    if (part.length > 0 && !part.startsWith("_GLOBAL__N_")) parts.push(part);
  }
  return parts.length > 0 ? parts.join("::") : undefined;
}
