"""Exports a network of torchvision as ONNX without its weights: `python3 bench/soc/export_onnx.py googlenet OUT.onnx`.

What `cotenant-lab soc groups` reads is layers, tensors and shapes; weights are only named. Needs torch, torchvision, onnx
and onnxscript, and no GPU.
"""

import sys
import tempfile
from pathlib import Path

import onnx
import torch
import torchvision


def main():
    name, out = sys.argv[1:]
    heads = {"aux_logits": False, "init_weights": False} if name in ("googlenet", "inception_v3") else {}
    net = getattr(torchvision.models, name)(weights=None, **heads).eval()
    side = 299 if name == "inception_v3" else 224
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "network.onnx")
        torch.onnx.export(net, (torch.zeros(1, 3, side, side),), str(file), dynamo=True, external_data=True)
        model = onnx.load(str(file), load_external_data=False)
    # Where in which source file each layer was made.
    graph = model.graph
    for part in (model, graph, *graph.node, *graph.value_info, *graph.input, *graph.output, *graph.initializer):
        for told in ("metadata_props", "doc_string"):
            part.ClearField(told)
    Path(out).write_bytes(model.SerializeToString())
    print(f"{out}: {len(graph.node)} layers, {Path(out).stat().st_size} bytes")


if __name__ == "__main__":
    main()
