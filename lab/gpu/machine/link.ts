// Copies between host and GPU over one link. Each direction serves copies in their order. Both directions are a
// little slower while both are busy. Best-effort copies arrive in pieces, as they do at the driver.

import { COPY_IN } from "../model/plan.ts";
import type { LinkModel } from "../model/presets.ts";
import type { Calendar } from "./calendar.ts";
import type { Stream } from "./stream.ts";

class Way {
  readonly queue: Stream[] = [];
  readonly bytes: number[] = [];
  /** The time that the copy in front still takes at full speed, in ns. */
  left = 0;
  endsAt = Number.POSITIVE_INFINITY;
  busyNs = 0;
}

export class Link {
  readonly #model: LinkModel;
  readonly #calendar: Calendar;
  readonly #kind: number;
  readonly #ways: readonly [Way, Way] = [new Way(), new Way()];
  #settledAt = 0;
  #speed = 1;

  /** `kind`: the kind of the link's events in the calendar. Their `who` is the direction. */
  constructor(model: LinkModel, calendar: Calendar, kind: number) {
    this.#model = model;
    this.#calendar = calendar;
    this.#kind = kind;
  }

  busyNs(way: 0 | 1): number {
    return this.#ways[way].busyNs;
  }

  begin(stream: Stream, kind: number, bytes: number, now: number): void {
    const way = this.#ways[kind === COPY_IN ? 0 : 1];
    this.#settle(now);
    way.queue.push(stream);
    way.bytes.push(bytes);
    if (way.queue.length > 1) return;
    this.#load(way);
    this.#replan(now);
  }

  /** Handles an event of the link. Returns the stream whose copy is over; undefined if the event came too early. */
  over(index: number, now: number): Stream | undefined {
    const way = this.#ways[index as 0 | 1];
    if (way.endsAt !== now) return undefined;
    this.#settle(now);
    const stream = way.queue.shift();
    way.bytes.shift();
    if (way.queue.length > 0) this.#load(way);
    this.#replan(now);
    return stream;
  }

  #load(way: Way): void {
    const [bytes = 0] = way.bytes;
    way.left = this.#model.latencyNs + (bytes / this.#model.bytesPerSecond) * 1e9;
  }

  #settle(now: number): void {
    const passed = now - this.#settledAt;
    this.#settledAt = now;
    for (const way of this.#ways) {
      if (way.queue.length === 0) continue;
      way.left -= passed * this.#speed;
      way.busyNs += passed;
    }
  }

  #replan(now: number): void {
    const both = this.#ways.every(({ queue }) => queue.length > 0);
    this.#speed = both ? this.#model.bothWays : 1;
    this.#ways.forEach((way, index) => {
      const busy = way.queue.length > 0;
      way.endsAt = busy ? now + Math.max(0, way.left) / this.#speed : Number.POSITIVE_INFINITY;
      if (busy) this.#calendar.add(way.endsAt, this.#kind, index);
    });
  }
}
