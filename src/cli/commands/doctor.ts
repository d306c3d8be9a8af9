import { itself, wrap } from "#core";
import { diagnose, type Finding, surroundingsHere } from "#doctor";
import { command, json } from "../program/command.ts";

export const doctorCommand = command({
  name: "doctor",
  summary: "check this machine and this shell, and say what to do about what is wrong",
  options: { json },
  async run(args) {
    const { command: node, args: program } = itself();
    const findings = await diagnose(surroundingsHere([node, ...program]));
    const failed = findings.filter(({ verdict }) => verdict === "fail").length;
    console.log(
      args.json
        ? JSON.stringify({ failed, findings }, null, 2)
        : findings.flatMap((one) => lines(one, process.stdout.columns)).join("\n"),
    );
    return failed > 0 ? 1 : 0;
  },
});

const LEFT_COLUMNS = 22;

function lines(finding: Finding, columns = Number.POSITIVE_INFINITY): readonly string[] {
  const { check, verdict, says, cure } = finding;
  const left = `${verdict.toUpperCase()}  ${check}`.padEnd(LEFT_COLUMNS);
  const text = [says, ...(cure === "" ? [] : [cure])].flatMap((sentence) =>
    wrap(sentence, columns - LEFT_COLUMNS),
  );
  return text.map((line, i) => `${i === 0 ? left : " ".repeat(LEFT_COLUMNS)}${line}`);
}
