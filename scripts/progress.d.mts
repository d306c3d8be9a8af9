/** Setup runs before there is a compiler for TypeScript, so the types are here. */
export interface Step {
  readonly name: string;
  /** How long it should take. */
  readonly seconds: number;
  readonly files?: number;
}

export class Progress<S extends Step = Step> {
  constructor(
    lanes: readonly (readonly S[])[],
    out: {
      readonly isTTY?: boolean;
      readonly columns?: number;
      write(text: string): unknown;
    },
    now: () => number,
  );
  begin(step: S): void;
  made(step: S, count: number): void;
  done(step: S): void;
  show(): void;
  clear(): void;
  end(): void;
}
