// Server-sent events, made once for all readers. Their number is limited, and a reader that does
// not read is dropped, so that no page costs the agent memory.
import type { ServerResponse } from "node:http";
import { type Clock, ms } from "#core";
import type { LiveEvents } from "#dashboard";
import { SentSnapshots } from "./sent.ts";
import { type DashboardSource, snapshotView, timelineViews, worstViews } from "./views.ts";

const PERIOD = ms(1000);
const WORST_EVERY = 5;
const TIMELINE_EVERY = 60;
const MAX_READERS = 16;
const UNREAD_FOR = 10;

interface Reader {
  readonly to: ServerResponse;
  behind: number;
}

export class Feed {
  readonly #known: () => DashboardSource;
  readonly #clock: Clock;
  readonly #readers = new Set<Reader>();
  readonly #sent = new SentSnapshots();
  #tick = 0;
  #stopTicking: (() => void) | undefined;

  constructor(known: () => DashboardSource, clock: Clock) {
    this.#known = known;
    this.#clock = clock;
  }

  get readers(): number {
    return this.#readers.size;
  }

  get isFull(): boolean {
    return this.#readers.size >= MAX_READERS;
  }

  add(to: ServerResponse): void {
    const reader = { to, behind: 0 };
    this.#readers.add(reader);
    to.once("close", () => this.#remove(reader));
    const known = this.#known();
    to.write(beginText(known));
    this.#stopTicking ??= this.#clock.every(PERIOD, () => this.#send());
  }

  #send(): void {
    this.#tick++;
    const known = this.#known();
    const text = [
      this.#tick % TIMELINE_EVERY === 0 ? timelineText(known) : "",
      this.#tick % WORST_EVERY === 0 ? worstText(known) : "",
      eventText("snapshot", this.#sent.updateTo(snapshotView(known))),
    ].join("");
    for (const reader of this.#readers) this.#sendTo(reader, text, known);
  }

  #sendTo(reader: Reader, text: string, known: DashboardSource): void {
    if (!reader.to.writableNeedDrain) {
      // A reader that has missed something gets everything again.
      reader.to.write(reader.behind > 0 ? beginText(known) : text);
      reader.behind = 0;
    } else if (++reader.behind > UNREAD_FOR) {
      reader.to.destroy();
      this.#remove(reader);
    }
  }

  #remove(reader: Reader): void {
    this.#readers.delete(reader);
    if (this.#readers.size > 0) return;
    this.#stopTicking?.();
    this.#stopTicking = undefined;
  }

  close(): void {
    for (const { to } of this.#readers) to.destroy();
  }
}

const beginText = (known: DashboardSource) =>
  timelineText(known) + worstText(known) + eventText("snapshot", snapshotView(known));
const timelineText = (known: DashboardSource) => eventText("timeline", timelineViews(known));
const worstText = (known: DashboardSource) => eventText("worst", worstViews(known));

/** JSON holds no line break, which would end the event. */
const eventText = <E extends keyof LiveEvents>(event: E, data: LiveEvents[E]): string =>
  `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
