// SMs for best-effort work complement what high clients are forecast to use (MuxFlow, section 4.3).
// Their use is the part of the time in bursts: it is at least their SM activity, which can't be
// told from that of others while both run.
import type { Nanos, WallMillis } from "#core";
import { complementShare, type DailyForecast, dailyForecast } from "#place";

export interface SmShare {
  readonly active: number;
  readonly forecast: number;
  readonly share: number; // in steps of a tenth
}

/** MuxFlow decides again every quarter of an hour. */
const AHEAD_SECONDS = 900;
/** A share must not change with each request. */
const KEPT_SECONDS = 15;

interface Kept {
  readonly forecast: DailyForecast;
  shown: SmShare | undefined;
  decidedAt: number;
}

export class SmShares {
  readonly #gpus = new Map<string, Kept>();
  readonly #startNs: number;
  readonly #startSeconds: number;

  /** The day is UTC's, which is as periodic as any other. */
  constructor(now: Nanos, wall: WallMillis) {
    this.#startNs = now;
    this.#startSeconds = (wall / 1000) % 86_400;
  }

  observe(uuid: string, now: number, active: readonly number[]): void {
    if (active.length === 0) return;
    const kept = this.#gpus.get(uuid) ?? {
      forecast: dailyForecast(),
      shown: undefined,
      decidedAt: 0,
    };
    this.#gpus.set(uuid, kept);
    const at = this.#startSeconds + (now - this.#startNs) / 1e9;
    const sum = Math.min(
      1,
      active.reduce((all, one) => all + one, 0),
    );
    kept.forecast.observe(at, sum);
    if (kept.shown && at - kept.decidedAt < KEPT_SECONDS) {
      kept.shown = { ...kept.shown, active: sum };
      return;
    }
    const forecast = Math.min(1, kept.forecast.peak(at + AHEAD_SECONDS) ?? sum);
    kept.shown = { active: sum, forecast, share: complementShare(forecast) };
    kept.decidedAt = at;
  }

  of(uuid: string): SmShare | undefined {
    return this.#gpus.get(uuid)?.shown;
  }
}
