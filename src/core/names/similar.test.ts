import { expect, test } from "vitest";
import { similar } from "./similar.ts";

const known = ["up", "run", "status", "top", "why", "down", "doctor", "--class", "--memory"];

test.each([
  { word: "stauts", meant: "status" },
  { word: "statsu", meant: "status" },
  { word: "donw", meant: "down" },
  { word: "pu", meant: "up" },
  { word: "rum", meant: "run" },
  { word: "--clas", meant: "--class" },
  { word: "--memroy", meant: "--memory" },
  { word: "--mem", meant: "--memory" },
  { word: "do", meant: undefined },
  { word: "fly", meant: undefined },
  { word: "", meant: undefined },
])('"$word" was probably meant as $meant', ({ word, meant }) => {
  expect(similar(word, known)).toBe(meant);
});
