// The style sheet of the report. Colours are those of the dashboard.
import { colourVariables, pageColours } from "#core";
import { curveColours, lookStyle } from "./colours.ts";

export const style = `
${colourVariables({ ...pageColours, ...curveColours })}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1280px; padding: 1rem 1rem 3rem; background: var(--ground); color: var(--ink); font: 15px/1.45 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.35rem; margin: 0 0 0.25rem; }
h2 { font-size: 1.1rem; margin: 1.75rem 0 0.6rem; }
h3 { font-size: 1rem; margin: 0; }
p { margin: 0.25rem 0; max-width: 90ch; }
code { font: 0.85em ui-monospace, monospace; }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
.quiet { color: var(--quiet); font-size: 0.88rem; }
.findings { margin: 0; padding: 0.7rem 0.9rem; border-left: 4px solid var(--good); background: var(--raised); list-style: none; }
.findings li { margin: 0.3rem 0; max-width: 100ch; }
.swatch { display: inline-block; width: 1.1em; height: 0; margin-right: 0.45em; border-top: 3px solid var(--curve); vertical-align: 0.25em; }
.missed { color: var(--bad); font-weight: 600; }

table { border-collapse: collapse; width: 100%; font-size: 0.85rem; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: 0.3rem 0.35rem; border-bottom: 1px solid var(--line); vertical-align: bottom; }
th { color: var(--quiet); font-weight: 600; overflow-wrap: normal; }
th.words, td.words { text-align: left; }
td, .value { white-space: nowrap; }
.spread { display: block; color: var(--quiet); font-size: 0.9em; }

.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 460px), 1fr)); gap: 0.8rem; }
.chart { margin: 0; padding: 0.75rem 0.9rem; border: 1px solid var(--line); border-radius: 6px; background: var(--raised); break-inside: avoid; min-width: 0; }
.axis, .finding, .beyond, .where { margin: 0.1rem 0; color: var(--quiet); font-size: 0.82rem; }
.finding { color: var(--ink); }
.plot { position: relative; height: 190px; margin: 1.1rem 1.4rem 1.5rem 3.4rem; }
.plot svg { position: absolute; inset: 0; width: 100%; height: 100%; overflow: visible; }
.grid { stroke: var(--line); stroke-width: 1; }
.curve { fill: none; stroke: var(--curve); stroke-width: 1.8; stroke-linejoin: round; }
.grid, .curve { vector-effect: non-scaling-stroke; }
.plot span { position: absolute; color: var(--quiet); font-size: 0.75rem; line-height: 1; white-space: nowrap; }
.plot .y { right: 100%; margin-right: 0.4rem; transform: translateY(-50%); }
.plot .x { top: 100%; margin-top: 0.4rem; transform: translateX(-50%); }
.plot .peak { bottom: 100%; color: var(--curve); transform: translateX(-50%); font-size: 0.7rem; }
.plot .at { top: 0; bottom: 0; width: 0; border-left: 1px dashed var(--ink); }
.values { display: grid; grid-template-columns: repeat(auto-fill, minmax(210px, 1fr)); gap: 0 1rem; margin: 0.3rem 0 0; padding: 0; list-style: none; font-size: 0.82rem; }
.values li { display: flex; align-items: baseline; }
.values b { margin-left: auto; font-variant-numeric: tabular-nums; white-space: nowrap; }
.values .swatch { flex: none; align-self: center; }

${lookStyle}
.verdict { font-size: 1.15rem; line-height: 1.35; font-weight: 600; max-width: 100ch; margin: 0.6rem 0; }
.best { font-weight: 700; color: var(--good); }

@media (max-width: 900px) {
  thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  tr { display: grid; grid-template-columns: repeat(auto-fill, minmax(135px, 1fr)); gap: 0 0.8rem; padding: 0.5rem 0; border-bottom: 1px solid var(--line); }
  td, td.words { display: flex; justify-content: space-between; gap: 0.5rem; padding: 0.05rem 0; border: 0; text-align: right; white-space: normal; }
  td.name { grid-column: 1 / -1; justify-content: flex-start; align-items: center; gap: 0; font-weight: 600; }
  .value { flex: none; }
  .spread { display: inline; }
  td:not(.name)::before { content: attr(data-column); color: var(--quiet); text-align: left; }
  .plot { margin-left: 2.9rem; margin-right: 0.8rem; }
}
@media print {
  body { font-size: 12px; }
  * { print-color-adjust: exact; }
  .hint { display: none; }
  tr { break-inside: avoid; }
}
`;
