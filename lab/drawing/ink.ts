// Fonts, sizes and colours of charts.
import { pageColours } from "#core";

export const INK = pageColours.ink.light;
export const GREY = pageColours.quiet.light;
export const FAINT = pageColours.idle.light;
export const GROUND = pageColours.ground.light;
export const RAISED = pageColours.raised.light;
export const BETTER = pageColours.good.light;
export const SMALL = 11;
