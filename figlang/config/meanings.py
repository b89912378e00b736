"""Words that people try as keys, and what they have to write instead.

The words are those of other tools and of plain speech. Each line has the answers, the best first, and the
words that lead to them. An answer counts if the verb has all its keys, so one line serves all verbs. A word
with a group, such as `data.text`, is for that group only and comes first.
"""

_LINES: tuple[tuple[tuple[str, ...], str], ...] = (
    # Training
    (("method.lr",), "learning_rate learningrate lrate max_lr peak_lr"),
    (
        ("batch_size", "method.batch_size"),
        "batch bs batchsize train_batch_size eval_batch_size per_device_train_batch_size "
        "per_device_eval_batch_size micro_batch_size method.bs",
    ),
    (
        ("method.epochs",),
        "epoch num_epochs n_epochs max_epochs num_train_epochs train_epochs steps max_steps train_steps",
    ),
    (("method.warmup",), "warmup_steps warmup_ratio num_warmup_steps"),
    (
        ("method.accumulate",),
        "gradient_accumulation_steps gradient_accumulation accumulation accumulation_steps grad_accum "
        "accumulate_grad_batches",
    ),
    (("method.schedule",), "scheduler lr_scheduler lr_scheduler_type lr_schedule"),
    (("method.optimizer",), "optim opt"),
    (("method.weight_decay",), "wd"),
    (("method.patience",), "early_stopping early_stopping_patience early_stop"),
    (("method.clip",), "max_grad_norm grad_clip gradient_clip gradient_clip_val clip_grad clipping"),
    (("method.checkpointing",), "gradient_checkpointing grad_checkpointing activation_checkpointing"),
    (("method.ema",), "ema_decay"),
    (
        ("method=contrastive, method=lm or method=nli",),
        "loss objective loss_fn method.type method.kind method.loss method.objective",
    ),
    (
        ("max_length", "model.max_length"),
        "max_len maxlen max_seq_length max_seq_len seq_len sequence_length cutoff_len context_length",
    ),
    (("seed",), "seeds random_seed random_state rng"),
    # Adapters
    (("peft=lora", "checkpoint=RUN"), "lora adapter adapters use_lora use_peft peft"),
    (("peft=qlora", "model.quantization=4bit"), "qlora"),
    (("peft.r",), "lora_r lora_rank peft.rank peft.lora_r peft.lora_rank"),
    (("peft.alpha",), "lora_alpha"),
    (("peft.dropout",), "lora_dropout"),
    (("peft.target_modules",), "lora_target_modules lora_modules peft.modules peft.targets"),
    # Models
    (
        ("model=NAME, where NAME is a preset, a hub id or a folder",),
        "base base_model model_name model_path model_id model_name_or_path pretrained pretrained_model "
        "pretrained_model_name_or_path weights model.path model.id model.model model.folder "
        "model.dir model.file model.weights model.pretrained model.source model.repo",
    ),
    (
        ("checkpoint=RUN", "model=RUN, which starts from the weights of a run"),
        "checkpoint ckpt checkpoint_path ckpt_path run run_folder model.checkpoint model.ckpt model.run",
    ),
    (("model.family",), "model.type model.kind model.arch model_type"),
    (("model.attention",), "attn attn_implementation flash_attention flash_attn"),
    (("model.quantization=4bit",), "quantize quantized quantization load_in_4bit 4bit bits bnb"),
    (("model.quantization=8bit",), "load_in_8bit 8bit"),
    # Endpoints
    (
        ("model.input_price and model.output_price",),
        "price prices pricing token_price price_per_token price_per_million",
    ),
    (("model.input_price",), "input_cost price_in prompt_price price_input"),
    (("model.output_price",), "output_cost price_out completion_price price_output"),
    (("model.input_price, model.output_price and model.max_cost",), "cost costs"),
    (("model.max_cost",), "budget max_budget max_price cost_limit"),
    (
        ("model.endpoint",),
        "url uri address host server base_url base_uri api_base api_url endpoint_url openai_api_base",
    ),
    (("model.key_env",), "api_key apikey key openai_api_key api_key_env"),
    (
        ("model.concurrency",),
        "num_concurrent concurrent parallel requests rpm max_concurrency n_jobs rate_limit",
    ),
    (("model.api",), "provider vendor backend model.backend"),
    # What is asked, and how replies are drawn
    (("sampling.temperature", "protocol.temperature"), "temperature temp"),
    (("sampling.top_p", "protocol.top_p"), "top_p"),
    (("sampling.n", "protocol.n"), "n num_return_sequences n_samples_per_item"),
    (
        ("sampling.max_tokens", "protocol.max_tokens"),
        "max_tokens max_new_tokens max_output_tokens max_completion_tokens",
    ),
    (("protocol.system",), "system system_prompt system_message"),
    (("protocol=cot",), "cot chain_of_thought think thinking"),
    (("protocol.reasoning_effort",), "reasoning effort"),
    (("shots", "prompt.k"), "shots shot num_fewshot n_shots nshot fewshot few_shot num_shots k"),
    (("scoring",), "score scorer score_by metric normalization scoring_method"),
    # Data
    (
        ("data=FILE",),
        "data_path data_file input input_file csv data.path data.file_path data.filename data.csv data.data "
        "data.name_or_path data.input",
    ),
    (("data",), "dataset datasets data_name task tasks benchmark corpus data.task data.id"),
    (("data.train",), "train train_file training training_file data.training data.train_file"),
    (("data.validation",), "data.val data.dev data.valid data.eval data.validation_file"),
    (
        ("split=validation", "data.validation"),
        "dev val valid validation eval eval_file validation_file val_file dev_file",
    ),
    (("split=test", "data.test"), "test test_file"),
    (("split", "data.train and data.validation"), "split splits data.split subset"),
    (("data.limit",), "limit max_samples max_items num_items n_items num_samples n_samples sample samples"),
    (("data.columns.context",), "data.text data.context data.premise data.sentence data.columns.text"),
    (
        ("data.columns.gold",),
        "data.label data.labels data.gold data.answer data.target data.columns.label data.columns.answer",
    ),
    (("data.columns.options",), "data.options data.choices data.columns.choices data.columns.answers"),
    # Machines
    (("trainer.accelerator",), "device trainer.device device_type"),
    (("trainer.devices",), "gpus num_gpus n_gpus n_gpu num_devices"),
    (("trainer=gpu",), "gpu cuda use_gpu use_cuda"),
    (("trainer=cpu",), "cpu use_cpu no_cuda"),
    (("trainer.precision=bf16-mixed", "model.dtype=bfloat16"), "bf16 bfloat16 amp mixed_precision"),
    (("trainer.precision=16-mixed", "model.dtype=bfloat16"), "fp16 float16 half"),
    (("trainer.precision or model.dtype", "model.dtype"), "dtype torch_dtype precision"),
    (("trainer.strategy",), "ddp fsdp deepspeed distributed"),
    (("trainer.nodes",), "num_nodes nnodes n_nodes nodes"),
    (("trainer.threads",), "num_threads n_threads cpus workers num_workers"),
    (("trainer.progress",), "progress_bar disable_tqdm quiet verbose"),
    # Folders, names and trackers
    (
        ("output=FOLDER", "run=FOLDER"),
        "output output_dir output_path out outdir out_dir dir folder save save_dir save_path save_to run_dir "
        "results results_dir to paths.output paths.out",
    ),
    (("name",), "run_name experiment_name exp_name"),
    (("overwrite=true",), "force overwrite_output_dir replace"),
    (("run=FOLDER, which continues an unfinished run",), "resume_from_checkpoint resume_from"),
    (("paths.cache",), "cache_dir"),
    (("paths.data",), "data_dir data_root root paths.root"),
    (("paths.runs",), "runs_dir"),
    (("logger=wandb",), "wandb use_wandb logger.wandb"),
    (("logger=tensorboard",), "tensorboard tb logger.tensorboard"),
    (("logger=mlflow",), "mlflow logger.mlflow"),
    (("logger",), "log logging report_to tracker trackers"),
    (("logger.project",), "wandb_project project_name"),
    (("logger.entity",), "wandb_entity"),
)

MEANINGS = {word: answers for answers, words in _LINES for word in words.split()}
