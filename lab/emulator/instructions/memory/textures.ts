// Texture reads of one f32 channel, of the nearest texel, with coordinates clamped to the image. The other channels of
// a texel are 0, 0, 1.
import { KernelError } from "../../machine/errors.ts";
import { memoryOperand, pieces } from "../moves.ts";
import type { Compile } from "../site.ts";

const tex: Compile = (site) => {
  const shape = site.one(["1d", "2d"]) ?? site.fail("this shape");
  const by = site.types.at(-1) ?? "";
  if (!site.has("v4") || site.type(0) !== "f32" || (by !== "s32" && by !== "f32"))
    return site.fail("this type");
  const to = pieces(site.operand(0)).map((one) => site.write(one, "f32"));
  const address = memoryOperand(site, 1);
  const handle = site.read(address.base, "b64");
  const [coordinates] = address.rest;
  if (coordinates === undefined || address.rest.length !== 1) return site.fail("a sampler");
  const [x, y] = pieces(coordinates).map((one) => site.read(one, by));
  if (x === undefined || (shape === "2d" && y === undefined)) return site.fail("its coordinates");
  return (w, lanes, n) => {
    const view = by === "s32" ? w.i32 : w.f32;
    for (let k = 0; k < n; k++) {
      const l = lanes[k] as number;
      const number = w.i32[handle + 2 * l] as number;
      const texture = w.block.running.memory.textures.get(number);
      if (texture === undefined)
        throw new KernelError("PTX_OUT_OF_BOUNDS", `there is no texture object ${number}`, l);
      const inside = (at: number, size: number) => Math.max(0, Math.min(size - 1, Math.floor(at)));
      const column = inside(view[x + l] as number, texture.width);
      const row =
        y === undefined || shape === "1d" ? 0 : inside(view[y + l] as number, texture.height);
      const texel = [texture.texels[row * texture.width + column] ?? 0, 0, 0, 1];
      to.forEach((slot, i) => {
        w.f32[slot + l] = texel[i] ?? 0;
      });
    }
  };
};

export const textures: Readonly<Record<string, Compile>> = { tex };
