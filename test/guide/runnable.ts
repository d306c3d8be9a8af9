// Which blocks of shell the tests run, by page and first line, and why they do not run the others.

interface Runs {
  /** `own`: the block starts its agent; `before`: one runs already; `none`: it needs none. */
  readonly agent: "own" | "before" | "none";
  /** Words of lines that are left out, each with the reason. */
  readonly without?: Readonly<Record<string, string>>;
}

type Page = Readonly<Record<string, Runs>>;

const untilAKey = "runs until a key is pressed";

export const runs: Readonly<Record<string, Page>> = {
  "README.md": {
    "cotenant up": { agent: "own", without: { "cotenant top": untilAKey } },
    "cotenant up --gpu soft": { agent: "own" },
    "cotenant up --mode mps": { agent: "own" },
  },
  "docs/guide/commands.md": {
    "cotenant --help": { agent: "none" },
  },
  "docs/guide/dashboard.md": {
    "cotenant dashboard            # prints the URL": {
      agent: "before",
      without: { "--open": "opens a browser" },
    },
  },
  "docs/guide/install.md": {
    "cotenant doctor": { agent: "before" },
  },
  "docs/guide/layer-mapping.md": {
    "cotenant-lab soc plan bench/soc/googlenet-xavier.json --svg plan.svg --out plan.json": {
      agent: "none",
      without: { "model.onnx": "a model of the reader's own" },
    },
  },
  "docs/guide/monitoring.md": {
    "cotenant events --since 1h": {
      agent: "before",
      without: { "--follow": "runs until it is interrupted" },
    },
  },
  "docs/guide/objectives.md": {
    "cotenant up --mode mps": { agent: "own" },
  },
  "docs/guide/protection.md": {
    "cotenant up --health memory=0.85,0.9,-": { agent: "own" },
    "cotenant up --health memory=0.85,0.9,- --health cpuPressure=0.5,0.8,- --health lateness=off": {
      agent: "own",
    },
    "cotenant up --on-health 'logger \"GPU $COTENANT_HEALTH_GPU: $COTENANT_HEALTH_TO, $COTENANT_HEALTH_CAUSE\"'":
      { agent: "own" },
  },
  "docs/guide/ptx.md": {
    "cotenant-lab ptx run test/ptx/corpus/triton/products/matmul_tf32.ptx --grid 2,2 --block 128 --shared 98304 \\":
      { agent: "none" },
  },
  "docs/guide/run.md": {
    "cotenant up": { agent: "own", without: { "cotenant top": untilAKey } },
  },
  "docs/guide/software-gpu.md": {
    "cotenant up --gpu soft": { agent: "own" },
  },
  "docs/guide/troubleshooting.md": {
    "cotenant doctor": { agent: "before" },
  },
  "docs/guide/works-with/README.md": {
    "cotenant run --class high -- python3 -c 'import cotenant; print(cotenant.role())'": {
      agent: "before",
    },
  },
  "docs/guide/works-with/pytorch.md": {
    "cotenant up": { agent: "own" },
    "CUDA_VISIBLE_DEVICES=0 cotenant run --class best-effort -- python3 train.py": {
      agent: "before",
    },
  },
};

const docker = "needs Docker or an NVIDIA GPU in a container";
const machine = "changes the machine: it needs root and an agent for all users";
const gpu = "needs an NVIDIA GPU and the program";
const slurm = "needs a Slurm";
const long = "takes longer than the tests may";
const cluster = "needs a Kubernetes cluster; test/kubernetes has one and does it";
const data = "needs results and profiles of the reader's own";

/** Page → first line → reason. */
export const notRun: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "README.md": {
    "npm run wheel                   # makes cotenant-*.whl, for pip install on machines with nothing but Python":
      long,
  },
  "docs/guide/cluster.md": {
    "cotenant-lab simulate                                     # an invented day, needs no data":
      long,
  },
  "docs/guide/containers.md": {
    "sudo cotenant up --system": machine,
    "sudo mkdir -p /etc/cdi": machine,
    "docker run --gpus all \\": docker,
    "sudo cotenant up --system --gpu soft": machine,
    "sudo scripts/image cotenant.tar                  # in a clone, on Debian with mmdebstrap and buildah":
      "test/containers makes and runs the image",
  },
  "docs/guide/dashboard.md": {
    'ssh -L 9464:127.0.0.1:9464 gpu-machine      # after "cotenant up --port 9464"':
      "needs another machine",
  },
  "docs/guide/install.md": {
    "npm start": long,
    "npm run wheel                                           # in a clone: makes the file":
      "test/packaged makes and installs it",
    "npm run package                                         # in a clone: makes the file":
      "test/packaged makes and installs it",
    "echo 'eval \"$(cotenant completion bash)\"' >> ~/.bashrc":
      "changes the reader's shell; test/cli tests what it prints",
  },
  "docs/guide/reference/kubernetes.md": {
    "kubectl explain sharingpolicy.spec": cluster,
    'kubectl -n cotenant-system create secret generic cotenant-metrics --from-literal=token="$(openssl rand -hex 32)"':
      cluster,
  },
  "docs/guide/kubernetes.md": {
    "cotenant cluster install --image registry.example/cotenant:0.1.0": cluster,
    "cotenant cluster report": cluster,
    "sudo scripts/image cotenant.tar": cluster,
    "kubectl apply -f first-service.yaml -f first-job.yaml": cluster,
    "helm install cotenant deploy/kubernetes/chart --namespace cotenant-system --create-namespace \\":
      cluster,
    "kubectl get pods": cluster,
    "kubectl get pairings": cluster,
  },
  "docs/guide/llm.md": {
    "cotenant load-llm --url http://localhost:8000 --rate 4 --slo ttft.p99=500ms --slo tpot.p99=50ms":
      "needs an LLM server; test/llm runs the command",
    "cotenant load-llm --rate 1.6 --seconds 60 --prompt lognormal:512,1 --output 128 --each alone.jsonl":
      "needs an LLM server; test/llm runs both commands",
    "cotenant run --class high --name llm --slo ttft.p99=250ms -- vllm serve MODEL --tensor-parallel-size 2":
      "needs an LLM server; test/python has services of several processes",
    "cotenant try --metrics-url http://localhost:8000/metrics --metric vllm.ttft --ready http://localhost:8000/health \\":
      gpu,
    "cotenant up --mode mps": gpu,
  },
  "docs/guide/memory.md": {
    "cotenant run --class best-effort --memory 20GiB -- python3 train.py":
      "needs a program of the reader's; test/e2e has a quota and parks a job",
    "cotenant run --class best-effort --movable --name train -- python3 train.py &":
      "needs a program of the reader's; test/e2e parks one",
    "cotenant run --class best-effort --movable --name one   -- python3 train.py &":
      "needs programs of the reader's; test/e2e lets some take turns",
    "cotenant run --class high --park-after 60s --name chat -- python3 serve.py":
      "needs a program of the reader's; test/e2e puts one to sleep",
    "cotenant move train --to GPU-37a7f3fa": gpu,
  },
  "docs/guide/monitoring.md": {
    "cotenant up --port 9464": "takes a port that something else may have",
    "install -m 640 -o gpu -g prometheus /dev/null /etc/cotenant/metrics.token": machine,
  },
  "docs/guide/reference/monitoring.md": {
    "cotenant up --port 9464": "takes a port that something else may have",
    "cotenant_active_ratio * on (instance, gpu, class, slot) group_left (pod) cotenant_client_info":
      "a query of Prometheus",
  },
  "docs/guide/objectives.md": {
    "cotenant objective serve":
      "needs a service of the reader's that runs; test/e2e changes objectives",
    "  objective of serve (pid 23280): slowdown 10 %, learning, level 3": "output",
    "cotenant run --class high --slo ttft.p99=250ms --slo tpot.p99=50ms \\":
      "starts an LLM engine of the reader's",
    "cotenant run --class high --slo ttft.p99=250ms --slo tpot.p99=50ms -- python serve.py":
      "starts an LLM engine of the reader's",
    "cotenant profile --name first -- python train.py": gpu,
    "cotenant-lab model resnet50-eager+bert-train --profiles bench/profiles/h200 --slo slowdown=10% \\":
      long,
  },
  "docs/guide/reference/policies.md": {
    "cotenant up --policy strict": "several ways to start an agent, of which one runs at a time",
  },
  "docs/guide/policies.md": {
    "cotenant up": "several ways to start an agent, of which one runs at a time",
  },
  "docs/guide/prediction.md": {
    "cotenant-lab predict collect results/*-bench-*.json --out measured.json": data,
    "kubectl get pairings,sharingreports,workloadprofiles -A -o json > pairs.json": cluster,
  },
  "docs/guide/profiling.md": {
    "cotenant profile --name bert -- python3 workloads/serve.py --model bert-large --rate 60 --seconds 6":
      gpu,
  },
  "docs/guide/protection.md": {
    "sudo cotenant up --system --host-guard cpus=4-15 --host-guard weight=10 --host-guard memory=64GiB":
      machine,
    "cotenant up --gpu soft":
      "writes for an agent of the reader's; test/e2e/protection/health.test.ts does it",
  },
  "docs/guide/ptx.md": {
    "cotenant-lab ptx check FILE.ptx              # which variants are legal, and why others are not":
      "the files are the reader's own",
  },
  "docs/guide/run.md": {
    "systemctl enable --now cotenant              # with --user for the second": machine,
  },
  "docs/guide/tenants.md": {
    "sudo cotenant up --system": machine,
    "$ sudo cotenant why 4711": machine,
  },
  "docs/guide/try.md": {
    'cotenant try --ready 8000 --load "python3 load.py" -- python3 serve.py -- python3 train.py':
      gpu,
    "cotenant try --gpu soft --no-mps -- \\":
      "takes longer than the tests may; test/e2e/try.slow.test.ts does it",
  },
  "docs/guide/upgrade.md": {
    "pip install ./cotenant-VERSION-py3-none-manylinux_2_28_x86_64.whl    # or: npm install -g ./cotenant-VERSION-linux-x64.tgz":
      machine,
  },
  "docs/guide/works-with/others.md": {
    "cotenant run --class high --name triton -- tritonserver --model-repository=/models": gpu,
    "cotenant run --class high --name torchserve -- torchserve --start --foreground --model-store /models":
      gpu,
    "cotenant run --class best-effort -- torchrun --nproc-per-node=1 train.py": gpu,
    "cotenant run --class best-effort --ungated -- torchrun --nproc-per-node=4 train.py": gpu,
  },
  "docs/guide/works-with/slurm.md": {
    "sudo cotenant up --system": machine,
    "srun --ntasks=1 --gres=gpu:1 cotenant run --class best-effort --name train -- python3 train.py":
      slurm,
    "#SBATCH --gres=gpu:1 --ntasks=1": slurm,
  },
  "docs/guide/works-with/transformers.md": { "cotenant up": gpu },
  "docs/guide/works-with/sglang.md": { "pip install /opt/cotenant/python": gpu },
  "docs/guide/works-with/vllm.md": { "cotenant up": gpu },
  "python/README.md": {
    "pip install /opt/cotenant/python":
      "changes the reader's Python; test/python builds and installs it",
  },
  "docs/guide/uninstall.md": {
    "cotenant down": "removes the package",
  },
};
