// See https://prometheus.io/docs/instrumenting/exposition_formats/.

type Sample = readonly [labels: string, value: number];

export const family = (
  name: string,
  type: string,
  help: string,
  samples: readonly Sample[],
): string =>
  [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} ${type}`,
    ...samples.map(([labels, value]) => `${name}${labels} ${value}`),
    "",
  ].join("\n");

export const one = (name: string, type: string, help: string, value: number): string =>
  family(name, type, help, [["", value]]);

export const by = (label: string, values: Iterable<readonly [string, number]>): readonly Sample[] =>
  [...values].map(([value, n]) => [`{${label}=${JSON.stringify(value)}}`, n]);
