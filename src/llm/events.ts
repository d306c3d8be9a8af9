// Server-sent events have lines that end with \n or \r\n.
import { StringDecoder } from "node:string_decoder";

export class Events {
  // A character may be divided between two pieces.
  readonly #decoder = new StringDecoder("utf8");
  #rest = "";
  #data: string[] = [];

  push(piece: Buffer): string[] {
    const lines = (this.#rest + this.#decoder.write(piece)).split("\n");
    this.#rest = lines.pop() ?? "";
    const events: string[] = [];
    for (const raw of lines) {
      const line = raw.endsWith("\r") ? raw.slice(0, -1) : raw;
      if (line.startsWith("data:")) this.#data.push(line.slice(line[5] === " " ? 6 : 5));
      else if (line === "" && this.#data.length > 0) {
        events.push(this.#data.join("\n"));
        this.#data = [];
      }
    }
    return events;
  }
}
