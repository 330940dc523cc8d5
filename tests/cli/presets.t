# halley presets: what is compiled in.

## a preset is shown with its sources
$ halley presets dgx-a100
> # presets/clusters/dgx-a100.yaml
> name: dgx-a100
> npu: A100-SXM4-80GB
> ...
> sources: {*}

## kinds can be listed
$ halley presets stacks --csv | head -2
> kind,name
> stack,automodel-2026

## an unknown name is refused
$ halley presets abacus
! halley: no preset "abacus"; `halley presets` lists them
? 1

## a Hugging Face configuration is shown as halley reads it
$ printf '{"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 131072, "frobnicate": 1}' > config.json
$ halley presets config.json
> model:       config.json
> parameters:  8.03 B (8030261248)
> shape:       layers 32, hidden 4096, heads 32, kv_heads 8, head_dim 128, ffn 14336, vocab 128256, seq 8192, gated
> file:        Hugging Face configuration
> assumed:     attention_bias false, mlp_bias false, tie_word_embeddings false, seq 8192 (the model allows 131072)
> unknown:     frobnicate
$ mkdir llama && mv config.json llama
$ halley presets llama --json | query - /parameters /active_parameters /seq /import/unknown
> 8030261248
> 8030261248
> 8192
> ["frobnicate"]

## a model type that is not known is refused with the nearest one
$ printf '{"model_type": "lama"}' > config.json
$ halley presets config.json
! halley: config.json: model type "lama" is not known; nearest: llama. Describe it as a halley model (halley help model)
? 1

## layers of a kind that nobody measured are timed, and every answer says so
$ printf '{"model_type": "mamba", "hidden_size": 2560, "num_hidden_layers": 64, "vocab_size": 50280}' > config.json
$ halley presets config.json --json | query - /timed /recurrent /recurrent_layers
> true
> "Mamba layers"
> 64
$ halley estimate -m config.json -c dgx-h100:8 | grep -o 'No measured.*'
> No measured run of this layer kind: Mamba layers are timed by their roofline.
! halley: note: no run with Mamba layers was ever measured; their time is a roofline
$ halley estimate -m config.json -c dgx-h100:8 --json 2> /dev/null | query - /error_bar/measured /error_bar/unmeasured
> false
> "Mamba layers"
$ halley plan -m config.json -c dgx-h100:8 --top 1 | grep -o 'No measured.*'
> No measured run of this layer kind: Mamba layers are timed by their roofline.
! halley: note: no run with Mamba layers was ever measured; their time is a roofline
$ printf 'name: s\nmodel: config.json\ncluster: dgx-h100:8\nvary: {plan.tp: [1, 8]}\n' > s.yaml
$ halley explore s.yaml --json 2> /dev/null | query - /warnings/0
> "no run with Mamba layers was ever measured; their time is a roofline"
$ halley trace gen -m config.json -c dgx-h100:8 -o t > /dev/null
! halley: note: no run with Mamba layers was ever measured; their time is a roofline

## layers that cannot be timed are counted, and an estimate is refused
$ printf '{"model_type": "t5", "d_model": 512}' > config.json
$ halley presets config.json --json | query - /timed /untimed
> false
> "an encoder and a decoder"
$ halley estimate -m config.json -c dgx-h100:8
! halley: model "config.json" has an encoder and a decoder, which halley counts but cannot time yet
! ...
? 2

## a launch script is shown as model and plan, and never run
$ printf 'TP=2\nARGS=(\n  --num-layers 4 # few\n  --hidden-size 256 --num-attention-heads 4 --seq-length 512 --vocab-size 1000)\nif [ $TP -gt 1 ]; then ARGS+=("--sequence-parallel"); fi\ntouch ran\ntorchrun --nproc_per_node 8 train.py ${ARGS[@]} --tensor-model-parallel-size $TP --micro-batch-size 1 --global-batch-size 32 --bf16 --lr 1e-4 --frob 1\n' > run.sh
$ halley presets run.sh; test ! -e ran
> read as: Megatron-LM script; 11 keys used, 1 without influence, 1 unknown; 8 accelerators
> model:   3.42 M parameters; 4 layers, hidden 256, 4 heads, ffn 1024, vocabulary 1024, tied
> plan:    global-batch 32, seq 512, dtype bf16, tp 2, pp 1, cp 1, ep 1, virtual 1, micro-batch 1, zero 0, recompute none, gradient-bytes 4, gradient-memory 4, sequence-parallel yes, expose dp+tp
> unknown: --frob
$ halley presets run.sh --json | query - /tp /global_batch /npus /sequence_parallel /import/unknown
> 2
> 32
> 8
> true
> ["--frob"]

## a value that needs a program is refused with the variable and its line; --set gives it
$ printf 'python train.py --num-layers $NL --hidden-size 64\nNL=$(nproc)\npython train.py --num-layers $NL --hidden-size 64 --num-attention-heads 4 --seq-length 8 --vocab-size 128 --micro-batch-size 1\n' > var.sh
$ halley presets var.sh
! halley: var.sh: --num-layers comes from $NL, which line 2 takes from a command; give --set NL=...
? 1
$ halley presets var.sh --set NL=3 --json | query - /layers
> 3

## a Python recipe is refused with the remedy
$ printf 'import torch\n\ndef recipe():\n    pass\n' > recipe.py
$ halley presets recipe.py
! halley: recipe.py: a Python recipe is never run; print its configuration as YAML and give that file
? 1

## plans and clusters are shown as halley reads them
$ printf 'tp: 8\nmicro-batch: 2\noffload: [optimizer]\n' > plan.yaml
$ halley presets plan.yaml
> tp: 8
> micro-batch: 2
> offload: {*}
$ halley presets plan.yaml --json | query - /tp /micro_batch
> 8
> 2
$ halley presets dgx-h100 > cluster.yaml
$ halley presets cluster.yaml --json | query - /cluster
> "dgx-h100"
$ printf 'name: s\nmodel: llama3-8b\ncluster: dgx-h100:8\nvary: {plan.tp: [1, 8]}\n' > study.yaml
$ halley presets study.yaml
> study:       s, 2 designs
> model:       llama3-8b
> vary:        plan.tp: 1, 8
> objective:   least step-time
$ halley presets study.yaml --json | query - /designs /axes/0/values/1
> 2
> "8"
$ printf 'name: mine\nframework: megatron\ngiven: {gemm: 1.1}\n' > stack.yaml
$ halley presets stack.yaml
> stack:       mine
> gemm: 1.1
$ halley presets stack.yaml --json | query - /stack /constants/0/value
> "mine"
> 1.1

## values of presets as numbers, each with its source
$ halley presets dgx-h100 --values --json | query - /presets/0/kind /presets/0/values/1 /presets/0/values/2 /presets/0/values/8
> "cluster"
> {"key": "npu", "words": "H100-SXM-80GB", "source": "DGX H100: 8 x 400G NDR"}
> {"key": "nodes.npus", "words": "8", "value": 8, "source": "DGX H100: 8 x 400G NDR"}
> {"key": "cost.host", "words": "45000 USD", "value": 45000, "unit": "USD", "source": "server of 8 without GPUs and network cards: bill of materials of 32,010 USD and margin (epoch-research/training-cost-trends), 2023; network by the list of prices"}
$ halley presets npus --values --json | query - /presets/30/name /presets/30/values/2 /presets/30/values/6
> "tpu-v6e"
> {"key": "peak.bf16", "words": "918 TFLOP/s", "value": 918000000000000, "unit": "FLOP/s", "source": "github jax-ml/scaling-book tpus.md; docs.cloud.google.com/tpu"}
> {"key": "memory.hbm.capacity", "words": "32 GB", "value": 32000000000, "unit": "B", "source": "what the driver reports as usable, where known; general knowledge"}
$ halley presets llama3-8b --values --json | tail -7
>         {"key": "parameters", "words": "8.03052e+09", "value": 8030519296, "source": "computed by halley from the sizes"},
>         {"key": "active-parameters", "words": "8.03052e+09", "value": 8030519296, "source": "computed by halley from the sizes"},
>         {"key": "training-flops-per-token", "words": "5.14735e+10", "value": 51473547264, "unit": "FLOP", "source": "computed by halley from the sizes"}
>       ]
>     }
>   ]
> }
$ halley presets dgx-h100 --values
! halley: --values needs --json
! see 'halley presets --help'
? 2
