"""real_engine.py ENGINE VERSION: whether that release of the engine, as its wheel has it, has what the plugin follows."""

import ast
import json
import subprocess
import sys
from pathlib import Path

from cotenant.engines import followed, sglang, vllm

engine, version = sys.argv[1:]
FILES = {
    "vllm": ["v1/engine/core.py", "v1/engine/__init__.py", "v1/request.py", "v1/core/sched/scheduler.py"],
    "sglang": ["srt/managers/scheduler.py", "srt/managers/schedule_batch.py"],
}[engine]
command = [sys.executable, str(Path(__file__).with_name("wheel_source.py")), f"{engine}=={version}"]
sources = json.loads(
    subprocess.run(command + [f"{engine}/{path}" for path in FILES], check=True, capture_output=True, text=True).stdout
)


def source(path):
    return ast.parse(sources[path])


def class_of(tree, name):
    return next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)


def fields(tree, name):
    targets = [node.target for node in class_of(tree, name).body if isinstance(node, ast.AnnAssign)]
    return {target.id for target in targets if isinstance(target, ast.Name)}


def attributes(tree, name):
    """Attributes that its methods assign to self, and its methods."""
    found = {node.attr for node in ast.walk(class_of(tree, name)) if isinstance(node, ast.Attribute)}
    return found | {node.name for node in class_of(tree, name).body if isinstance(node, ast.FunctionDef)}


def same_shape(tree, name):
    """A class whose methods take what those of the engine's class take, and do nothing."""
    methods: list = [node for node in class_of(tree, name).body if isinstance(node, ast.FunctionDef)]
    for method in methods:
        method.body, method.decorator_list, method.returns = [ast.Pass()], [], None
        for argument in ast.walk(method.args):
            if isinstance(argument, ast.arg):
                argument.annotation = None
        method.args.defaults = [ast.Constant(None) for _ in method.args.defaults]
        method.args.kw_defaults = [ast.Constant(None) for _ in method.args.kw_defaults]
    made = ast.ClassDef(name=name, bases=[], keywords=[], body=methods, decorator_list=[])
    scope = {}
    exec(compile(ast.fix_missing_locations(ast.Module(body=[made], type_ignores=[])), name, "exec"), scope)
    return scope[name]


def missing(wanted, found):
    return sorted(set(wanted) - set(found))


teller = followed.Teller(engine)
if engine == "vllm":
    core = same_shape(source("vllm/v1/engine/core.py"), "EngineCore")
    vllm.follow(teller, core)
    outputs = source("vllm/v1/engine/__init__.py")
    lacks = missing(["request_id", "new_token_ids", "finish_reason"], fields(outputs, "EngineCoreOutput"))
    lacks += missing(["outputs"], fields(outputs, "EngineCoreOutputs"))
    lacks += missing(["request_id", "arrival_time"], attributes(source("vllm/v1/request.py"), "Request"))
    scheduler = same_shape(source("vllm/v1/core/sched/scheduler.py"), "Scheduler")
    wrong = followed.takes(scheduler, "finish_requests", "self", "request_ids")
    changed = [core.add_request, core.step, core.step_with_batch_queue]
else:
    scheduler = same_shape(source("sglang/srt/managers/scheduler.py"), "Scheduler")
    sglang.follow(teller, scheduler)
    batch = source("sglang/srt/managers/schedule_batch.py")
    lacks = missing(["rid", "output_ids", "finished", "finished_reason"], attributes(batch, "Req"))
    lacks += missing(["FINISH_ABORT"], [node.name for node in batch.body if isinstance(node, ast.ClassDef)])
    lacks += missing(["rid", "abort_all"], attributes(source("sglang/srt/managers/scheduler.py"), "Scheduler"))
    wrong = None
    changed = [scheduler._add_request_to_queue, scheduler.process_batch_result, scheduler.abort_request]

followed_all = teller.works and all(hasattr(method, "__wrapped__") for method in changed)
if not followed_all or lacks or wrong:
    raise SystemExit(f"{engine} {version}: followed {followed_all}, lacks {lacks}, {wrong}")
print("followed")
