// The command as a person meets it: text on the terminal and exit status, from processes of its own.
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { lockDirectory } from "#agent";
import { dispatch, cotenant as program } from "#cli";
import { runDirectory, UserError } from "#core";
import { policies } from "#policy";
import { cotenant, temporary } from "./by-hand.ts";

afterEach(() => void vi.unstubAllEnvs());

describe("without an agent", () => {
  test.each([
    {
      argv: ["fly"],
      status: 2,
      says: /^There is no command "fly"\. Known: up, run, status, top, .*, try, profile, cluster.*\.$/,
    },
    {
      argv: ["stauts"],
      status: 2,
      says: /^There is no command "stauts"\. Did you mean "status"\?$/,
    },
    {
      argv: ["up", "--policy", "fair"],
      status: 2,
      says: `--policy: "fair" is not one of ${policies.map(({ name }) => name).join(", ")}.`,
    },
    {
      argv: ["up", "--policy", "tick-tock"],
      status: 2,
      says: '--policy: "tick-tock" is a policy of cotenant-lab (cotenant-lab up --policy tick-tock).',
    },
    {
      argv: ["modle"],
      status: 2,
      says: /^There is no command "modle"\. Did you mean "model"\?$/,
    },
    {
      argv: ["cluster", "draw"],
      status: 2,
      says: '"cluster" can\'t "draw". It can "install", "status", "why", "report" and "uninstall".',
    },
    {
      argv: ["up", "--gpu", "soft", "--set", "chunk=1"],
      status: 2,
      says: /^No rule is called "chunk"\. Known: protect, isolated, .*, wantKernels, .*\.$/,
    },
    {
      argv: ["status"],
      status: 1,
      says: 'No agent is running in /nonexistent/cotenant. Start one: "cotenant up".',
    },
    {
      argv: ["run", "--class", "high", "--require-agent", "--", "true"],
      status: 1,
      says: 'No agent is running in /nonexistent/cotenant. Start one: "cotenant up".',
    },
    {
      argv: ["try", "--gpu", "soft", "--", "nosuch", "--", "true"],
      status: 1,
      says: 'Cannot run "nosuch": there is no such command.',
    },
    {
      argv: ["try", "--gpu", "soft", "--", "true", "--", "/usr"],
      status: 1,
      says: 'Cannot run "/usr": it is a folder.',
    },
    {
      argv: ["run", "--class", "best-effort", "--", "true"],
      status: 1,
      says: 'No agent is running in /nonexistent/cotenant. Start one: "cotenant up".',
    },
    {
      argv: ["run", "--class", "high", "--require-agent", "--wait-agent", "--", "true"],
      status: 2,
      says: "--require-agent and --wait-agent exclude each other.",
    },
    {
      argv: ["run", "--", "true"],
      status: 2,
      says: '"run" needs --class high|best-effort. "cotenant run --help" shows its use.',
    },
    {
      argv: ["run", "--class", "high", "--slo", "p98=1ms", "--", "true"],
      status: 2,
      says: '--slo: "p98=1ms" is neither p99=TIME nor slowdown=PERCENT, nor ttft|tpot|itl|e2e.p50|p90|p95|p99|mean=TIME.',
    },
    {
      argv: ["run", "--class", "high", "--slo", "slowdown=5", "--", "true"],
      status: 2,
      says: '--slo slowdown=5: "5" is not a percentage such as 5%.',
    },
    {
      argv: ["run", "--class", "best-effort", "--slo", "p99=1ms", "--", "true"],
      status: 2,
      says: "--slo is for --class high: best-effort clients have no objective.",
    },
    {
      argv: ["run", "--class", "high", "--memory", "1GiB", "--", "true"],
      status: 2,
      says: "--memory is for --class best-effort: a high client may allocate what there is.",
    },
    {
      argv: ["run", "--class", "best-effort", "--memory", "0", "--", "true"],
      status: 2,
      says: "--memory 0: a client needs some. Leave it out for no limit.",
    },
    {
      argv: [..."run --class best-effort --movable --park-host 0".split(" "), "--", "true"],
      status: 2,
      says: "--park-host 0: nothing could be parked. Leave it out for no limit.",
    },
    {
      argv: ["load", "--rate", "5", "--kernels", "99999999999"],
      status: 2,
      says: '--kernels: "99999999999" is not a whole number from 1 to 100000.',
    },
  ])("$argv is refused with a reason", async ({ argv, status, says }) => {
    vi.stubEnv("COTENANT_DIR", "/nonexistent/cotenant");
    const error = await dispatch(program, argv).catch((thrown: unknown) => thrown);
    if (!(error instanceof UserError)) throw error;
    expect([error.message, error.hint].filter(Boolean).join(" ")).toMatch(says);
    expect(error.exitStatus).toBe(status);
  });

  test("a refusal is one line on stderr, nothing on stdout, and an exit status", () => {
    expect(cotenant(["run", "--class", "low", "--", "true"])).toEqual({
      status: 2,
      stdout: "",
      stderr: 'cotenant: --class: "low" is not one of high, best-effort.\n',
    });
  });

  test("switched off, a command runs as it is without an agent, too", () => {
    const argv = ["run", "--class", "high", "--", "sh", "-c", "echo $LD_PRELOAD.$COTENANT_CLASS"];
    expect(cotenant(argv, { COTENANT_OFF: "1" })).toEqual({ status: 0, stdout: ".\n", stderr: "" });
  });

  test("a high command runs, and it is said once that nothing protects it", () => {
    const directory = `${temporary()}/run`;
    const script = 'echo "$COTENANT_CLASS $COTENANT_SOCKET"; exit 7';
    const argv = ["run", "--class", "high", "--name", "serve", "--", "sh", "-c", script];
    const env = { COTENANT_DIR: directory };
    const { status, stdout, stderr } = cotenant(argv, env);
    expect({ status, stdout }).toEqual({ status: 7, stdout: `high ${directory}/agent.sock\n` });
    expect(stderr.split("\n")[0]).toContain(
      `cotenant: "serve" runs unprotected until an agent comes: no agent is running in ${directory}. Start one: "cotenant up".`,
    );
  });

  test("nothing is used at a place where others could be: a high command runs without a socket", () => {
    const directory = temporary();
    chmodSync(directory, 0o777);
    const argv = ["run", "--class", "high", "--", "sh", "-c", 'echo "[$COTENANT_SOCKET]"'];
    const { status, stdout, stderr } = cotenant(argv, { COTENANT_DIR: directory });
    expect({ status, stdout }).toEqual({ status: 0, stdout: "[]\n" });
    expect(stderr).toContain(
      `cotenant: "sh" runs unprotected: the directory ${directory} can be entered by others.`,
    );
  });

  test("a shell with another XDG_RUNTIME_DIR looks for the agent at the same place", () => {
    for (const XDG_RUNTIME_DIR of ["/run/user/4711", temporary()])
      expect(runDirectory({ XDG_RUNTIME_DIR }, 4711)).toBe(runDirectory({}, 4711));
  });

  test("options come from a configuration file; the command line counts more", () => {
    const folder = temporary();
    const file = `${folder}/config.toml`;
    const env = { COTENANT_CONFIG: file, COTENANT_DIR: `${folder}/run` };
    const shown = ["--", "sh", "-c", 'echo "$COTENANT_CLASS $COTENANT_NAME"'];
    writeFileSync(file, '[run]\nclass = "high"\nname = "configured"\n');
    expect(cotenant(["run", ...shown], env).stdout).toBe("high configured\n");
    expect(cotenant(["run", "--name", "given", ...shown], env).stdout).toBe("high given\n");
    writeFileSync(file, '[run]\nclas = "high"\n');
    expect(cotenant(["run", ...shown], env)).toMatchObject({
      status: 2,
      stdout: "",
      stderr: expect.stringContaining(`cotenant: ${file}, run.clas: does not belong there.`),
    });
  });

  test("down is done where nothing runs", () => {
    expect(cotenant(["down"])).toEqual({
      status: 0,
      // Agents of other tests may run beside this one, and are named.
      stdout: expect.stringMatching(
        /^No agent is running in \/nonexistent\/cotenant\.( One (for all users )?runs in (\S+); COTENANT_DIR=\3 leads to it\.)*\n$/,
      ),
      stderr: "",
    });
    expect(cotenant(["down", "--json"]).stdout).toBe('{"stopped":null}\n');
  });

  test("one rank of several is refused as best-effort, and runs as an untracked process on purpose", () => {
    const argv = (...options: string[]) => [
      ...["run", "--class", "best-effort", ...options, "--"],
      ...["sh", "-c", "echo $LD_PRELOAD.$COTENANT_OFF"],
    ];
    const { status, stdout, stderr } = cotenant(argv(), { WORLD_SIZE: "8" });
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
    expect(stderr).toContain("neither torchrun, Open MPI nor Slurm says");
    expect(stderr).toMatch(
      /^cotenant: WORLD_SIZE=8 says that this is one rank of several: .+ --ungated.+\n$/,
    );
    expect(cotenant(argv("--ungated"), { WORLD_SIZE: "8" })).toEqual({
      status: 0,
      stdout: ".1\n",
      stderr: "",
    });
    expect(cotenant(argv(), { WORLD_SIZE: "1" }).stderr).toMatch(/^cotenant: No agent is running/);
  });

  test.each([["--help"], ["-h"], ["help"]])("%s lists the commands", async (word) => {
    const shown = vi.spyOn(console, "log").mockImplementation(() => {});
    expect(await dispatch(program, [word])).toBe(0);
    expect(shown.mock.lastCall?.[0]).toContain("Usage: cotenant COMMAND");
    shown.mockRestore();
  });

  test.each([
    { argv: ["help", "run"], says: "Usage: cotenant run [options] -- COMMAND…" },
    { argv: ["down", "-h"], says: "Usage: cotenant down [options]" },
    { argv: ["--version"], says: /^\d+\.\d+\.\d+$/ },
    { argv: ["version"], says: /^\d+\.\d+\.\d+$/ },
    { argv: ["-V"], says: /^\d+\.\d+\.\d+$/ },
    { argv: ["-v"], says: /^\d+\.\d+\.\d+$/ },
  ])("$argv is answered", async ({ argv, says }) => {
    const shown = vi.spyOn(console, "log").mockImplementation(() => {});
    expect(await dispatch(program, argv)).toBe(0);
    expect(shown.mock.lastCall?.[0]).toMatch(says);
    shown.mockRestore();
  });

  test("a machine without an NVIDIA driver is told about the software GPU", () => {
    const { status, stderr } = cotenant(["up"], { LD_LIBRARY_PATH: "/nonexistent" });
    expect(stderr).toMatch(
      /^cotenant: There is no NVIDIA GPU to serve here: .+\. The software GPU takes its place with --gpu soft\.\n$/,
    );
    expect(status).toBe(1);
  });
});

describe("what nobody foresaw is one sentence", () => {
  /** A directory whose lock can't be opened, by nobody. */
  function unusable(): string {
    const directory = `${temporary()}/run`;
    mkdirSync(`${directory}/agent.lock`, { recursive: true, mode: 0o700 });
    return directory;
  }

  test("in the foreground", () => {
    const directory = unusable();
    const { status, stderr } = cotenant(["up", "--gpu", "soft", "--foreground"], {
      COTENANT_DIR: directory,
    });
    expect(stderr).toBe(
      `cotenant: open of ${directory}/agent.lock failed: illegal operation on a directory.\n`,
    );
    expect(status).toBe(1);
  });

  test("from an agent that was to go into the background", () => {
    const directory = unusable();
    const { status, stderr } = cotenant(["up", "--gpu", "soft"], { COTENANT_DIR: directory });
    expect(stderr).toBe(
      `cotenant: The agent did not start: open of ${directory}/agent.lock failed: illegal operation on a directory. Its log is ${directory}/agent.log.\n`,
    );
    expect(status).toBe(1);
  });

  test("and with COTENANT_DEBUG=1 the place where it was, too", () => {
    const { stderr } = cotenant(["up", "--gpu", "soft", "--foreground"], {
      COTENANT_DIR: unusable(),
      COTENANT_DEBUG: "1",
    });
    expect(stderr).toMatch(/^cotenant: .*\n(?:.*\n)* +at /);
  });
});

/** The message of a command that is refused. */
async function refusal(argv: readonly string[]): Promise<string> {
  const error = await dispatch(program, argv).catch((thrown: unknown) => thrown);
  if (!(error instanceof UserError)) throw error;
  return error.message;
}

test("an agent whose file is damaged is said to run", async () => {
  const directory = temporary();
  chmodSync(directory, 0o700);
  onTestFinished(lockDirectory(directory));
  writeFileSync(`${directory}/agent.json`, '{"pid": 1');
  vi.stubEnv("COTENANT_DIR", directory);
  for (const argv of [["status"], ["down"], ["run", "--class", "best-effort", "--", "true"]])
    expect(await refusal(argv)).toBe(
      `An agent runs, but its file ${directory}/agent.json is damaged: nobody can find the agent by it.`,
    );
});

test.each([
  {
    argv: ["profile", "list", "/etc/passwd"],
    says: "/etc/passwd can't be read: not a directory.",
  },
  {
    argv: ["profile", "show", "/etc/"],
    says: "/etc/ can't be read: it is a folder, no file.",
  },
  { argv: ["profile", "--", ""], says: 'Cannot run "": there is no such command.' },
])("$argv is refused in a sentence", async ({ argv, says }) => {
  vi.spyOn(console, "error").mockImplementation(() => {});
  onTestFinished(() => void vi.restoreAllMocks());
  vi.stubEnv("COTENANT_PROFILES", temporary());
  expect(await refusal(argv)).toBe(says);
});
