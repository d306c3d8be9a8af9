// The socket carries two connections in pieces with a header of 8 bytes: connection, length
// (github.com/containerd/nri, pkg/net/multiplex). On each are ttrpc messages with a header of 10
// bytes: length, stream, type, flags (github.com/containerd/ttrpc, PROTOCOL.md). All numbers are
// big-endian.

/** The runtime asks on the first connection, and the plugin on the second. */
export const PLUGIN_CONNECTION = 1;
export const RUNTIME_CONNECTION = 2;

export const REQUEST = 1;
export const RESPONSE = 2;

const PIECE_HEADER = 8;
const MESSAGE_HEADER = 10;
const LONGEST_MESSAGE = 4 * 2 ** 20;
/** The runtime reads through a buffer of this size, and breaks off at a piece that does not fit. */
const LONGEST_PIECE = 4096;

export interface Message {
  readonly stream: number;
  readonly type: number;
  readonly data: Buffer;
}

export function bytesOf(connection: number, { stream, type, data }: Message): Buffer {
  const header = Buffer.alloc(MESSAGE_HEADER);
  header.writeUInt32BE(data.length, 0);
  header.writeUInt32BE(stream, 4);
  header.writeUInt8(type, 8);
  const whole = Buffer.concat([header, data]);
  const pieces: Buffer[] = [];
  for (let at = 0; at < whole.length; at += LONGEST_PIECE) {
    const piece = whole.subarray(at, at + LONGEST_PIECE);
    const before = Buffer.alloc(PIECE_HEADER);
    before.writeUInt32BE(connection, 0);
    before.writeUInt32BE(piece.length, 4);
    pieces.push(before, piece);
  }
  return Buffer.concat(pieces);
}

export class MessageReader {
  #unread = Buffer.alloc(0);
  readonly #connections = new Map<number, Buffer>();

  /** Throws for bytes in no such framing. */
  take(bytes: Buffer): readonly (readonly [connection: number, Message])[] {
    const found: (readonly [number, Message])[] = [];
    this.#unread = Buffer.concat([this.#unread, bytes]);
    while (this.#unread.length >= PIECE_HEADER) {
      const connection = this.#unread.readUInt32BE(0);
      const length = this.#unread.readUInt32BE(4);
      if (length > LONGEST_MESSAGE + MESSAGE_HEADER) throw new Error(`a piece of ${length} bytes`);
      if (this.#unread.length < PIECE_HEADER + length) break;
      const piece = this.#unread.subarray(PIECE_HEADER, PIECE_HEADER + length);
      this.#unread = this.#unread.subarray(PIECE_HEADER + length);
      for (const message of this.#takePiece(connection, piece)) found.push([connection, message]);
    }
    return found;
  }

  #takePiece(connection: number, piece: Buffer): readonly Message[] {
    const found: Message[] = [];
    let unread = Buffer.concat([this.#connections.get(connection) ?? Buffer.alloc(0), piece]);
    while (unread.length >= MESSAGE_HEADER) {
      const length = unread.readUInt32BE(0);
      if (length > LONGEST_MESSAGE) throw new Error(`a message of ${length} bytes`);
      if (unread.length < MESSAGE_HEADER + length) break;
      found.push({
        stream: unread.readUInt32BE(4),
        type: unread.readUInt8(8),
        data: unread.subarray(MESSAGE_HEADER, MESSAGE_HEADER + length),
      });
      unread = unread.subarray(MESSAGE_HEADER + length);
    }
    this.#connections.set(connection, unread);
    return found;
  }
}
