#!/usr/bin/env bash
# Packs SGLang, and what a machine with PyTorch 2.11, CUDA 13.0 and Python 3.12 lacks for it, as DIR/part.aa, part.ab, …
# of 40 MiB. There: cat DIR/part.* | tar xJ -C /tmp/engines; export PYTHONPATH=/tmp/engines; and for vllm-objectives.sh
#   SERVER="python3 -m sglang.launch_server --model-path /tmp/models/8b --served-model-name m --load-format dummy
#     --attention-backend triton --sampling-backend pytorch --grammar-backend none --enable-metrics --mem-fraction-static 0.4"
# The wheels are unmodified. FlashAttention (a gigabyte of the kernels' wheel), DeepGEMM, sources that FlashInfer compiles
# and kernels of other GPUs than sm_90 are left out. SGLang imports FlashInfer, and uses none of it with these options.
# Usage: pack-sglang.sh DIR
set -euo pipefail
out=$1
mkdir -p "$out"
out=$(cd "$out" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
platforms=()
for n in 2_35 2_34 2_31 2_28 2_27 2_26 2_24 2_17 2_12 2_5; do platforms+=(--platform "manylinux_${n}_x86_64"); done
for n in 2014 2010 1; do platforms+=(--platform "manylinux${n}_x86_64"); done
python3 -m pip download --quiet --no-deps --only-binary=:all: --python-version 3.12 --implementation cp \
  "${platforms[@]}" --dest "$work/wheels" \
  sglang==0.5.12 sglang-kernel==0.4.2.post2 transformers==5.6.0 tokenizers==0.22.2 openai==2.6.1 fastapi==0.165.0 \
  starlette==1.10.0 uvicorn==0.54.0 pydantic==2.14.4 pydantic-core==2.50.5 annotated-types \
  typing-inspection==0.4.5 apache-tvm-ffi==0.1.9 xgrammar==0.2.0 llguidance==0.7.30 compressed-tensors==0.15.0.1 \
  gguf==0.19.0 cffi pycparser jsonschema referencing rpds-py jsonschema-specifications ipython traitlets \
  decorator jedi parso prompt-toolkit wcwidth pygments stack-data executing asttokens pure-eval matplotlib-inline \
  dill loguru orjson python-multipart pyzmq msgspec setproctitle uvloop partial-json-parser opentelemetry-api \
  opentelemetry-sdk opentelemetry-semantic-conventions opentelemetry-proto opentelemetry-exporter-otlp \
  opentelemetry-exporter-otlp-proto-common opentelemetry-exporter-otlp-proto-grpc \
  opentelemetry-exporter-otlp-proto-http googleapis-common-protos sniffio distro jiter interegular pybase64 \
  hf-transfer einops soundfile blobfile pycountry torch-memory-saver huggingface-hub==1.33.0 tabulate \
  flashinfer-python==0.6.11.post1
mkdir "$work/site"
for wheel in "$work"/wheels/*.whl; do python3 -m zipfile -e "$wheel" "$work/site"; done
cd "$work/site"
rm -rf flashinfer/data/cccl flashinfer/data/cutlass
rm -rf sgl_kernel/sm100 sgl_kernel/flash_ops*.so sgl_kernel/flashmla_ops*.so lib xgrammar/lib pycountry/locales
find . -name '*.so*' ! -path './sgl_kernel/*' -size +1M -exec strip --strip-unneeded {} + 2>/dev/null || true
tar cf - . | xz -T0 -2 | split -b 40m - "$out/part."
ls -l "$out"
