// Ways to start a program.

export interface Way {
  readonly name: string;
  /** The command line that starts this one in that way. `folder`: one of its own. */
  readonly around: (words: readonly string[], folder: string) => readonly string[];
  /** Must be there; else the way is named as skipped. */
  readonly needs?: readonly string[];
}

/** Words that stand in front of the program. */
const before = (name: string, ...words: readonly string[]): Way => ({
  name,
  around: (program) => [...words, ...program],
});

/** A tool of Linux that stands in front of the program, and may be missing. */
const tool = (...words: readonly string[]): Way => ({
  ...before(words.join(" "), ...words),
  needs: words.slice(0, 1),
});

/** A shell that changes itself and becomes the program. */
const shell = (name: string, code: string): Way =>
  before(name, "bash", "-c", `${code}; exec "$@"`, "bash");

/** A shell that starts the program as its child. */
const child = (name: string, ...words: readonly string[]): Way => before(name, ...words, "shell");

/** Python that becomes the program `w`, or starts it. Of itself, Python ignores two signals. */
const python = (name: string, code: string): Way =>
  before(
    name,
    "python3",
    "-c",
    [
      "import os, signal, subprocess, sys",
      "for one in (signal.SIGPIPE, signal.SIGXFSZ): signal.signal(one, signal.SIG_DFL)",
      "w = sys.argv[1:]",
      code,
      "os.execvp(w[0], w)",
    ].join("\n"),
  );

const quoted = (words: readonly string[]) =>
  words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");

/** A script, with the program as $P and a folder as $D. */
const script = (name: string, code: string, needs: readonly string[] = []): Way => ({
  name,
  needs,
  around: (program, folder) => [
    "bash",
    "-c",
    `D=${folder} P=${quoted([quoted(program)])}\n${code}`,
  ],
});

const waitForFile = "until [ -e $D/done ]; do sleep 0.05; done; cat $D/out";

/** The program is to find the same under `cotenant run` as natively. */
export const transparent: readonly Way[] = [
  before("directly", "env"),
  before("nohup", "nohup"),
  before("timeout", "timeout", "600"),
  before("timeout --foreground", "timeout", "--foreground", "600"),
  before("nice", "nice", "-n", "7"),
  before("stdbuf", "stdbuf", "-oL"),
  before("xargs", "xargs", "-a", "/dev/null"),
  tool("ionice", "-c", "3"),
  tool("taskset", "-c", "0"),
  tool("chrt", "--batch", "0"),
  tool("setsid", "--wait"),
  tool("prlimit", "--nofile=256:4000", "--core=0:0"),
  tool("setpriv", "--no-new-privs"),
  tool("flock", "--close", "/dev/null"),
  tool("unshare", "--uts"),
  {
    name: "find",
    around: (program) => ["find", "/dev/null", "-exec", ...program, ";"],
  },
  script(
    "make",
    `printf 'x:\\n\\t@%s\\n' "\${P//\\$/\\$\\$}" > $D/Makefile; make -s -f $D/Makefile x`,
    ["make"],
  ),
  script("a terminal", 'script -qec "$P" /dev/null', ["script"]),
  script(
    "tmux",
    `tmux -L cotenant-$$ -f /dev/null new-session -d "$P > $D/out; touch $D/done"; ${waitForFile}`,
    ["tmux"],
  ),
  script(
    "systemd-socket-activate",
    `systemd-socket-activate -l $D/s -E PATH -E COTENANT_DIR sh -c "$P" > $D/out 2> $D/err &
    until python3 -c "import socket; socket.socket(1).connect('$D/s')" 2> /dev/null; do sleep 0.1; done
    wait; cat $D/out`,
    ["systemd-socket-activate"],
  ),
  script(
    "supervisord",
    `printf '[supervisord]\\nnodaemon=true\\nlogfile=$D/log\\npidfile=$D/pid\\n[program:p]\\ncommand=sh $D/c\\nautorestart=false\\nstartsecs=0\\nstdout_logfile=$D/out\\n' > $D/conf
    echo "$P; touch $D/done" > $D/c
    sed -i "s|\\$D|$D|" $D/conf; supervisord -c $D/conf > /dev/null & ${waitForFile}; kill $!; wait`,
    ["supervisord"],
  ),
  child("a shell's child", "bash", "-c", '"$@"; exit $?'),
  child("a shell's background job", "sh", "-c", '"$@" & wait $!'),
  child("a shell with job control", "bash", "-mc", '"$@" & wait $!'),
  child("a pipeline", "bash", "-c", 'true | "$@" | cat'),
  shell("ignored signals", "trap '' HUP INT QUIT PIPE CHLD TERM USR1"),
  shell("systemd's ignored SIGPIPE", "trap '' PIPE"),
  shell("a umask", "umask 027"),
  shell("another folder", "cd /usr/lib"),
  shell("a soft limit of 200 files", "ulimit -S -n 200"),
  shell("no core and little stack", "ulimit -c 0; ulimit -s 4096"),
  shell("descriptors 3 and 4", "exec 3</dev/null 4>/dev/null"),
  shell("descriptors behind gaps", "exec 9</dev/null 20</dev/null"),
  shell("no standard input", "exec <&-"),
  shell("bytes that are no UTF-8", "export WEIRD=$'a\\xe9b\\xff'; set -- \"$@\" $'\\xe9'"),
  shell("a function of bash", "f() { :; }; export -f f"),
  shell("an OOM score", "echo 500 > /proc/self/oom_score_adj"),
  python("all signals blocked", "signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))"),
  python(
    "a pending signal",
    "signal.pthread_sigmask(signal.SIG_BLOCK, [23]); os.kill(os.getpid(), 23)",
  ),
  python("an inherited pipe", "os.set_inheritable(os.pipe()[0], True)"),
  python("subprocess.run", "sys.exit(subprocess.run(w).returncode)"),
  python(
    "subprocess.run with signals and descriptors kept",
    "signal.signal(13, signal.SIG_IGN); sys.exit(subprocess.run(w, restore_signals=False, close_fds=False).returncode)",
  ),
  python(
    "posix_spawn with a signal mask",
    "p = os.posix_spawnp(w[0], w, os.environ, setsigmask=[2, 15]); sys.exit(os.waitstatus_to_exitcode(os.waitpid(p, 0)[1]))",
  ),
];

/** Ways that lose the library, each with what `run` says about it. */
export const lost: readonly { readonly words: readonly string[]; readonly says: string }[] = [
  { words: ["sudo", "true"], says: '"sudo" drops LD_PRELOAD: put it in front of cotenant run.' },
  { words: ["su", "-c", "true"], says: '"su" drops LD_PRELOAD: put it in front of cotenant run.' },
  {
    words: ["env", "-i", "true"],
    says: '"env -i" drops LD_PRELOAD: put it in front of cotenant run.',
  },
  {
    words: ["setpriv", "--reuid", "1000", "true"],
    says: '"setpriv" changes the user, whom the agent of this one does not serve: put it in front of cotenant run.',
  },
  {
    words: ["docker", "run", "x"],
    says: '"docker" passes nothing of Cotenant into its containers: give the container a class (docs/guide/containers.md).',
  },
  {
    words: ["podman", "run", "x"],
    says: '"podman" passes nothing of Cotenant into its containers: give the container a class (docs/guide/containers.md).',
  },
  {
    words: ["kubectl", "run", "x"],
    says: '"kubectl" starts programs on other machines: give the pod a class (docs/guide/kubernetes.md).',
  },
  {
    words: ["static"],
    says: '"static" is linked statically: Cotenant gets into no such program, only into those that it starts.',
  },
  {
    words: ["sanitized"],
    says: '"sanitized" is built with AddressSanitizer, which wants to be the first library: set ASAN_OPTIONS=verify_asan_link_order=0.',
  },
];

/** Ways that need what no test has. */
export const untested =
  "a running systemd, ssh and mpirun between machines, ray start and torchrun, which are too large for a test";
