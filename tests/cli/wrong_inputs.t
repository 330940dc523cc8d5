# Wrong inputs and what halley answers; the numbers are those of wrong-inputs.json.

## 1: a model option without a value
$ halley estimate -m
! halley: --model needs a value, MODEL
! see 'halley estimate --help'
? 2

## 2: no model at all
$ halley estimate -c dgx-h100:8
! halley: --model and --cluster must be given
! see 'halley estimate --help'
? 2

## 3: a model with a typo
$ halley estimate -m llama3-7b -c dgx-h100:8 --global-batch 64
! halley: no model "llama3-7b"; did you mean llama2-7b, llama3-70b or llama3-8b?
? 1

## 4: a word that many models begin with
$ halley estimate -m llama -c dgx-h100:8 --global-batch 64
! halley: no model "llama"; there are llama2-13b, llama2-70b, llama2-7b, llama3-405b, llama3-70b, llama3-8b, llama4-maverick, llama4-scout
? 1

## 5: a missing file
$ halley estimate -m missing.json -c dgx-h100:8 --global-batch 64
! halley: missing.json: no such file
? 1

## 6: a folder without a configuration
$ mkdir part
$ halley estimate -m part -c dgx-h100:8 --global-batch 64
! halley: part: the folder holds no config.json
? 1

## 7: model and cluster exchanged
$ halley estimate -m dgx-h100:8 -c llama3-8b --global-batch 64
! halley: "dgx-h100" is a cluster, "llama3-8b" a model: exchange -m and -c
? 1

## 8: a byte order mark is read
$ (printf '\357\273\277'; cat $DATA/wrong-inputs/l8.json) > bom.json
$ halley estimate -m bom.json -c dgx-h100:8 --global-batch 64 --seq 4096 | head -1
> may fit: stage 0 needs 88.1 GB, and H100-SXM-80GB has 82.1 GB with 4 % headroom

## 9: a packed configuration is read
$ gzip -c $DATA/wrong-inputs/l8.json > l8.json.gz
$ halley estimate -m l8.json.gz -c dgx-h100:8 --global-batch 64 --seq 4096 | head -1
> may fit: stage 0 needs 88.1 GB, and H100-SXM-80GB has 82.1 GB with 4 % headroom

## 10: a cut configuration
$ head -c 200 $DATA/wrong-inputs/l8.json > cut.json
$ halley estimate -m cut.json -c dgx-h100:8 --global-batch 64
! halley: cut.json:8:24: not valid JSON: a colon is missing after a key
? 1

## 11: an empty configuration
$ : > empty.json
$ halley estimate -m empty.json -c dgx-h100:8 --global-batch 64
! halley: empty.json: the file is empty; expected JSON
? 1

## 12: a trailing comma
$ sed 's/8192}/8192},/' $DATA/wrong-inputs/l8.json > comma.json
$ halley estimate -m comma.json -c dgx-h100:8 --global-batch 64 --seq 4096
! halley: comma.json:13:1: not valid JSON: a comma with nothing after it
? 1

## 13: a binary file
$ printf '\363\001\002\000\003' > bin.json
$ halley estimate -m bin.json -c dgx-h100:8 --global-batch 64
! halley: bin.json: not a text file
? 1

## 14: generation_config.json
$ printf '{"bos_token_id": 1, "do_sample": true}' > generation_config.json
$ halley estimate -m generation_config.json -c dgx-h100:8 --global-batch 64
! halley: generation_config.json: this looks like generation_config.json; give the config.json next to it
? 1

## 15: params.json of Meta
$ printf '{"dim": 4096, "n_layers": 32}' > params.json
$ halley estimate -m params.json -c dgx-h100:8 --global-batch 64
! halley: params.json: this looks like Meta's params.json; give the Hugging Face config.json
? 1

## 16: tokenizer_config.json
$ printf '{"tokenizer_class": "X"}' > tokenizer_config.json
$ halley estimate -m tokenizer_config.json -c dgx-h100:8 --global-batch 64
! halley: tokenizer_config.json: this looks like tokenizer_config.json; give the config.json next to it
? 1

## 17: an index of weights
$ printf '{"metadata": {}, "weight_map": {}}' > model.safetensors.index.json
$ halley estimate -m model.safetensors.index.json -c dgx-h100:8 --global-batch 64
! halley: model.safetensors.index.json: this looks like an index of weight files; give the config.json next to it
? 1

## 18: a LoRA adapter
$ printf '{"peft_type": "LORA", "r": 16}' > adapter_config.json
$ halley estimate -m adapter_config.json -c dgx-h100:8 --global-batch 64
! halley: adapter_config.json: this looks like a LoRA adapter; give the base model with -m, and --lora 16
? 1

## 19: an unknown model type
$ sed 's/"llama"/"warp_drive"/' $DATA/wrong-inputs/l8.json > unknown.json
$ halley estimate -m unknown.json -c dgx-h100:8 --global-batch 64 --seq 4096
! halley: unknown.json: model type "warp_drive" is not known. Describe it as a halley model (halley help model)
? 1

## 20: no model type and no architecture
$ sed '/model_type/d; /architectures/d' $DATA/wrong-inputs/l8.json > notype.json
$ halley estimate -m notype.json -c dgx-h100:8 --global-batch 64 --seq 4096
! halley: notype.json: the configuration has no model_type: which architecture is it?
? 1

## 21: layers in words
$ sed 's/"num_hidden_layers": 32/"num_hidden_layers": "thirty-two"/' $DATA/wrong-inputs/l8.json > words.json
$ halley estimate -m words.json -c dgx-h100:8 --global-batch 64
! halley: words.json: num_hidden_layers must be a whole number, is the text "thirty-two"
? 1

## 22: hidden size 0
$ sed 's/"hidden_size": 4096/"hidden_size": 0/' $DATA/wrong-inputs/l8.json > zero.json
$ halley estimate -m zero.json -c dgx-h100:8 --global-batch 64
! halley: zero.json: hidden_size must be positive
? 1

## 23: heads that do not divide the hidden size
$ sed 's/"num_attention_heads": 32/"num_attention_heads": 33/' $DATA/wrong-inputs/l8.json > heads.json
$ halley estimate -m heads.json -c dgx-h100:8 --global-batch 64 --seq 4096
! halley: heads.json: hidden 4096 is not a multiple of heads 33: give head_dim
? 1

## 24: without hidden_act the type says that the feed-forward is gated
$ sed '/hidden_act/d' $DATA/wrong-inputs/l8.json > noact.json
$ halley presets noact.json --json | query - /parameters /gated
> 8030261248
> true

## 25: Infinity is read
$ sed 's/"silu"/"silu", "a": Infinity/' $DATA/wrong-inputs/l8.json > inf.json
$ halley estimate -m inf.json -c dgx-h100:8 --global-batch 64 --seq 4096 | head -1
> may fit: stage 0 needs 88.1 GB, and H100-SXM-80GB has 82.1 GB with 4 % headroom

## 26: the sequence is not the number of positions
$ cp $DATA/wrong-inputs/l8.json .
$ halley estimate -m l8.json -c dgx-h100:8 --global-batch 64 --json | query - /plan/seq /assumed
> 8192
> [{"key": "micro-batch", "value": "1", "origin": "default", "text": "micro-batch 1"}, {"key": "seq", "value": "8192", "origin": "default", "text": "sequence 8192 (the model's file allows 131072 and states no training length)"}, {"key": "dtype", "value": "bf16", "origin": "default", "text": "bf16"}, {"key": "zero", "value": "1", "origin": "default", "text": "zero 1"}, {"key": "recompute", "value": "none", "origin": "default", "text": "recompute none"}]

## 27: a key with a typo
$ printf 'name: m\nlayers: 32\nhiden: 4096\n' > m.yaml
$ halley estimate -m m.yaml -c dgx-h100:8 --global-batch 64
! halley: m.yaml:3:1: unknown key "hiden"; did you mean "hidden"?
? 1

## 28: a tab as indent
$ printf 'name: m\n\tlayers: 32\n' > tab.yaml
$ halley estimate -m tab.yaml -c dgx-h100:8 --global-batch 64
! halley: tab.yaml:2:1: there is a tab here; YAML is indented with spaces
? 1

## 29: a key twice
$ printf 'name: m\nlayers: 32\nlayers: 31\n' > dup.yaml
$ halley estimate -m dup.yaml -c dgx-h100:8 --global-batch 64
! halley: dup.yaml:3:1: key "layers" is given twice, first in line 2; remove one of them
? 1

## 30: Megatron arguments are model and plan
$ printf -- '--num-layers 96 --hidden-size 12288 --num-attention-heads 96 --seq-length 2048 --tensor-model-parallel-size 8 --pipeline-model-parallel-size 16 --micro-batch-size 1 --global-batch-size 1536 --fp16' > one.txt
$ halley estimate -m one.txt -c dgx-a100:128 --json | query - /plan/tp /plan/pp /plan/micro_batch /plan/global_batch /plan/dtype
> 8
> 16
> 1
> 1536
> "fp16"

## 31: a script with a program in a value
$ printf '#!/bin/bash\nNL=$(nproc)\npython t.py --num-layers $NL --hidden-size 64\n' > var.sh
$ halley estimate -m var.sh -c dgx-h100:8 --global-batch 64
! halley: var.sh: --num-layers comes from $NL, which line 2 takes from a command; give --set NL=...
? 1

## 32: a DeepSpeed configuration as a model
$ printf '{"zero_optimization": {"stage": 2}, "train_batch_size": 64}' > ds.json
$ halley estimate -m ds.json -c dgx-h100:8 --global-batch 64
! halley: ds.json: this is a DeepSpeed configuration, which holds no model: give it with --plan, and a model with -m
? 1

## 33: a cluster without a count
$ halley estimate -m llama3-8b -c dgx-h100 --global-batch 64
! halley: --cluster dgx-h100 does not say how many accelerators: expected a number after ':', for example dgx-h100:64
! see 'halley estimate --help'
? 2

## 34: no accelerators
$ halley estimate -m llama3-8b -c dgx-h100:0 --global-batch 64
! halley: cluster "dgx-h100:0": expected a positive number of accelerators after ':', for example dgx-h100:64
! see 'halley estimate --help'
? 2

## 35: a count that is no number
$ halley estimate -m llama3-8b -c dgx-h100:64x --global-batch 64
! halley: cluster "dgx-h100:64x": expected a positive number of accelerators after ':', for example dgx-h100:64
! see 'halley estimate --help'
? 2

## 36: a product as a count
$ halley estimate -m llama3-8b -c dgx-h100:8x8 --global-batch 64
! halley: cluster "dgx-h100:8x8": did you mean dgx-h100:64?
! see 'halley estimate --help'
? 2

## 37: a device as a cluster
$ halley estimate -m llama3-8b -c h100:64 --global-batch 64
! halley: no cluster "h100"; did you mean dgx-h100, h100-pcie or hgx-h100-500w?
? 1

## 38: a cluster with a typo
$ halley estimate -m llama3-8b -c dgx-h10:8 --global-batch 64
! halley: no cluster "dgx-h10"; did you mean dgx-h100?
? 1

## 39: one node and a half
$ halley estimate -m llama3-8b -c dgx-h100:12 --global-batch 60 | head -1
> does not fit: stage 0 needs 107 GB, and H100-SXM-80GB has 82.1 GB with 4 % headroom
! halley: note: 12 is 1.5 nodes of 8: 2 nodes are paid for, 4 GPUs idle

## 40: a cluster file that is missing
$ halley estimate -m llama3-8b -c missing.yaml:8 --global-batch 64
! halley: missing.yaml: no such file
? 1

## 41: ASTRA-sim's network file as a cluster
$ cp $DATA/wrong-inputs/net.yml .
$ halley estimate -m llama3-8b -c net.yml:8 --global-batch 64
! halley: cluster "cluster" does not say the peak of its NPU: an estimate needs npu, the name of a preset or a map with peak: {bf16: ...}
? 1

## 42: two clusters
$ halley estimate -m llama3-8b -c dgx-h100:8 --global-batch 64 -c dgx-a100:8
! halley: --cluster is given twice
! see 'halley estimate --help'
? 2

## 43: slow ranks as a list
$ (halley presets dgx-h100; echo 'slow: [3, 2]') > slow.yaml
$ halley estimate -m llama3-8b -c slow.yaml:8 --global-batch 64
! halley: slow.yaml:9:7: slow needs {rank: factor}, and belongs into system: system: {slow: {3: 1.5}}
? 1

## 44: no cluster
$ halley estimate -m llama3-8b
! halley: --model and --cluster must be given
! see 'halley estimate --help'
? 2

## 45: fp8 on A100
$ halley estimate -m llama3-70b -c dgx-a100:64 --global-batch 64 --dtype fp8 --tp 8
! halley: A100-SXM4-80GB has no fp8 (it has bf16, fp16, fp32, tf32)
! see 'halley estimate --help'
? 2

## 46: fp4 on H100
$ halley estimate -m llama3-70b -c dgx-h100:64 --global-batch 64 --dtype fp4 --tp 8
! halley: H100-SXM-80GB has no fp4 (it has bf16, fp16, fp32, tf32, fp8)
! see 'halley estimate --help'
? 2

## 47: bf16 on V100
$ halley estimate -m llama3-8b -c dgx-1:8 --global-batch 64 --dtype bf16 --tp 8
! halley: V100-SXM has no bf16 (it has fp16, fp32)
! see 'halley estimate --help'
? 2

## 48: fp8 on TPU v5p
$ halley estimate -m llama3-8b -c tpu-v5p-pod:8 --global-batch 64 --dtype fp8
! halley: TPU-v5p has no fp8 (it has bf16, int8)
! see 'halley estimate --help'
? 2

## 49: a number format with a typo
$ halley estimate -m llama3-8b -c dgx-h100:8 --global-batch 64 --dtype int7
! halley: dtype must be one of bf16, fp16, fp32, tf32, fp8, fp4, int8, mxfp8, mxfp4, nvfp4; is "int7", did you mean "int8"?
! see 'halley estimate --help'
? 2

## 50: plan with fp8 on A100
$ halley plan -m llama3-70b -c dgx-a100:64 --dtype fp8 --global-batch 64 --top 2
! halley: A100-SXM4-80GB has no fp8 (it has bf16, fp16, fp32, tf32)
! see 'halley plan --help'
? 2

## 51: no global batch
$ halley estimate -m llama3-8b -c dgx-h100:8 | grep assumed
> assumed: global batch 8, micro-batch 1, sequence 8192 (from the model), bf16, zero 1, recompute none

## 52: a global batch in tokens
$ halley estimate -m llama3-8b -c dgx-h100:8 --global-batch 4194304
! halley: global batch 4194304 is in sequences, of 8192 tokens each; if 4194304 is the number of tokens, use global batch 512
! see 'halley estimate --help'
? 2

## 53: a global batch that replicas do not divide
$ halley estimate -m llama3-8b -c dgx-h100:8 --global-batch 63
! halley: global batch 63 is not a multiple of dp 8 x micro-batch 1
! see 'halley estimate --help'
? 2

## 54: a global batch with a suffix
$ halley estimate -m llama3-8b -c dgx-h100:8 --global-batch 1M
! halley: global-batch must be a whole number, is "1M"
! see 'halley estimate --help'
? 2

## 55: tp that heads do not divide by
$ halley estimate -m llama3-8b -c dgx-h100:8 --global-batch 64 --tp 3
! halley: tp 3 does not divide 32 heads; nearest 2, 4
! see 'halley estimate --help'
? 2

## 56: tp above the number of accelerators
$ halley estimate -m llama3-8b -c dgx-h100:8 --global-batch 64 --tp 16
! halley: tp 16 x pp 1 x cp 1 does not divide the 8 NPUs
! see 'halley estimate --help'
? 2

## 57: tp in words
$ halley estimate -m llama3-8b -c dgx-h100:8 --global-batch 64 --tp eight
! halley: tp must be a whole number, is "eight"
! see 'halley estimate --help'
? 2

## 58: stages of different length
$ halley estimate -m llama3-70b -c dgx-h100:56 --global-batch 64 --pp 7 --tp 8 > /dev/null
! halley: note: 80 layers on 7 stages are uneven (Megatron refuses); --stage-layers sets them

## 59: more stages than layers
$ halley estimate -m llama3-8b -c dgx-h100:64 --global-batch 64 --pp 64
! halley: 64 pipeline stages are more than the 32 layers
! see 'halley estimate --help'
? 2

## 60: interleaving without stages
$ halley estimate -m llama3-8b -c dgx-h100:8 --global-batch 64 --virtual 4
! halley: virtual 4 interleaves pipeline stages, and pp is 1: use virtual 1 or more stages
! see 'halley estimate --help'
? 2

## 61: chunks that layers do not divide by
$ halley estimate -m llama3-8b -c dgx-h100:8 --global-batch 64 --virtual 3 --pp 4
! halley: virtual 3: 3 chunks do not divide the 8 layers of a stage; use 2, 4 or 8
! see 'halley estimate --help'
? 2

## 62: interleaving with too few micro-batches
$ halley estimate -m llama3-8b -c dgx-h100:4 --global-batch 3 --virtual 2 --pp 4 --micro-batch 1
! halley: note: 4 is 0.5 nodes of 8: 1 node is paid for, 4 GPUs idle
! halley: interleaving (virtual 2) needs the number of micro-batches (3) to be a multiple of pp (4): use global batch 4 or virtual 1
! see 'halley estimate --help'
? 2

## 63: a micro-batch that does not divide
$ halley estimate -m llama3-8b -c dgx-h100:8 --global-batch 64 --micro-batch 5
! halley: global batch 64 is not a multiple of dp 8 x micro-batch 5
! see 'halley estimate --help'
? 2

## 64: ep that experts do not divide by
$ halley estimate -m mixtral-8x7b -c dgx-h100:24 --global-batch 24 --ep 3
! halley: expert parallelism 3 does not divide the number of experts 8
! see 'halley estimate --help'
? 2

## 65: cp that the sequence does not divide by
$ halley estimate -m llama3-8b -c dgx-h100:24 --global-batch 24 --cp 3
! halley: context parallelism 3 does not divide the sequence length 8192
! see 'halley estimate --help'
? 2

## 66: an unknown recomputation
$ halley estimate -m llama3-8b -c dgx-h100:8 --global-batch 64 --recompute some
! halley: recompute must be one of none, selective, selective-op, full, minimal, qkv, modules, kept; is "some", did you mean "none"?
! see 'halley estimate --help'
? 2

## 67: 0 recomputed layers are all
$ halley estimate -m llama3-8b -c dgx-h100:8 --global-batch 64 --recompute full --recompute-layers 0 | head -1
> llama3-8b on 8 x H100-SXM-80GB (dgx-h100)

## 68: recomputed layers without recomputation
$ halley estimate -m llama3-8b -c dgx-h100:8 --global-batch 64 --recompute-layers 4
! halley: recompute-layers 4 needs recomputation, none is chosen
! see 'halley estimate --help'
? 2

## 69: a shard degree that does not divide
$ halley estimate -m llama3-8b -c dgx-h100:8 --global-batch 64 --fsdp 3
! halley: the FSDP shard degree 3 does not divide the data-parallel ranks 8
! see 'halley estimate --help'
? 2

## 70: stages that are not the model
$ halley estimate -m llama3-8b -c dgx-h100:8 --global-batch 64 --pp 2 --stage-layers 10,10
! halley: the stages have 20 layers together, the model has 32
! see 'halley estimate --help'
? 2

## 71: --gbs is --global-batch
$ halley estimate -m llama3-8b -c dgx-h100:8 --gbs 64 --json | query - /plan/global_batch
> 64

## 72: --global-batch-size is --global-batch
$ halley estimate -m llama3-8b -c dgx-h100:8 --global-batch-size 64 --json | query - /plan/global_batch
> 64

## 73: --tensor-model-parallel-size is --tp
$ halley estimate -m llama3-8b -c dgx-h100:8 --global-batch 64 --tensor-model-parallel-size 8 --json | query - /plan/tp
> 8

## 74: too much headroom
$ halley estimate -m llama3-8b -c dgx-h100:8 --global-batch 64 --headroom '200 %'
! halley: --headroom must be between 0 and 90 %, is 200 %
! see 'halley estimate --help'
? 2

## 75: a part of the names of stacks
$ halley estimate -m llama3-8b -c dgx-h100:8 --global-batch 64 -s megatron
! halley: no stack "megatron"; there are megatron-2020, megatron-2022, megatron-bridge, megatron-core-2024, megatron-core-2025, megatron-deepspeed-2022, megatron-deepspeed-vtrain
? 1

## 76: a plan file that is missing
$ halley estimate -m llama3-8b -c dgx-h100:8 --global-batch 64 --plan missing.yaml
! halley: missing.yaml: no such file
? 1

## 77: a plan that does not fit
$ halley estimate -m llama3-405b -c dgx-h100:8 --global-batch 64 --tp 1 | head -1
> does not fit: stage 0 needs 3.63 TB, and H100-SXM-80GB has 82.1 GB with 4 % headroom

## 78: an empty study
$ : > empty.yaml
$ halley explore empty.yaml
! halley: empty.yaml: the study file is empty
? 1

## 79: power against money
$ (cat $DATA/wrong-inputs/study.yaml; echo 'where: ["power < 4 MUSD"]') > where1.yaml
$ halley explore where1.yaml
! halley: where1.yaml:7:9: expression "power < 4 MUSD": the left side of < is in W (power), the right side in USD (cost)
? 1

## 80: only designs that fit
$ (cat $DATA/wrong-inputs/study.yaml; echo 'where: ["power < 1 MW"]') > where2.yaml
$ halley explore where2.yaml | sed -n '1,/^Best/p'
> s: 2 designs evaluated of 2, 1 feasible
>
> Best by least step-time

## 81: half a condition
$ (cat $DATA/wrong-inputs/study.yaml; echo 'where: ["step-time <"]') > where.yaml
$ halley explore where.yaml
! halley: where.yaml:7:9: expression "step-time <": something is missing at column 12
? 1

## 82: a parameter by its word
$ sed 's/plan.tp/plan.tensor/' $DATA/wrong-inputs/study.yaml > tensor.yaml
$ halley explore tensor.yaml
! halley: tensor.yaml:5:8: no parameter "plan.tensor", did you mean "plan.tp"?
? 1

## 83: a study without a model
$ sed '/^model/d' $DATA/wrong-inputs/study.yaml > nomodel.yaml
$ halley explore nomodel.yaml
! halley: nomodel.yaml:1:1: key "model" is missing: model preset or file, or a preset with changes
? 1

## 84: a study without an objective
$ sed '/^objective/d' $DATA/wrong-inputs/study.yaml > noobj.yaml
$ halley explore noobj.yaml | grep "^Best"
> Best by least step-time (objective assumed: the study states none)

## 85: an unknown objective
$ sed 's/step-time/speed/' $DATA/wrong-inputs/study.yaml > obj.yaml
$ halley explore obj.yaml
! halley: obj.yaml:6:23: expression "speed": no parameter or result "speed"
? 1

## 86: a degree in words
$ sed 's/\[1, 8\]/[one, 8]/' $DATA/wrong-inputs/study.yaml > vtext.yaml
$ halley explore vtext.yaml
! halley: vtext.yaml:5:18: plan.tp: count is a number, such as "1.5M"; is "one"
? 1

## 87: a bandwidth without a unit
$ sed 's/plan.tp: \[1, 8\]/cluster.network.bandwidth: [25, 50]/' $DATA/wrong-inputs/study.yaml > unit.yaml
$ halley explore unit.yaml
! halley: unit.yaml:5:36: cluster.network.bandwidth: bandwidth needs a unit, such as "900 GB/s"; is "25"
? 1

## 88: a bandwidth in watts
$ sed 's/plan.tp: \[1, 8\]/cluster.network.bandwidth: [25 W, 50 W]/' $DATA/wrong-inputs/study.yaml > unit2.yaml
$ halley explore unit2.yaml
! halley: unit2.yaml:5:36: cluster.network.bandwidth: bandwidth is written like "900 GB/s"; "W" is a unit of power
? 1

## 89: a key of a study with a typo
$ sed 's/^vary/varry/' $DATA/wrong-inputs/study.yaml > key.yaml
$ halley explore key.yaml
! halley: key.yaml:5:1: unknown key "varry"; did you mean "vary"?
? 1

## 90: two parameters that follow from each other
$ sed 's/^vary.*/vary: {plan.tp: ["= plan.pp"], plan.pp: ["= plan.tp"]}/' $DATA/wrong-inputs/study.yaml > cyc.yaml
$ halley explore cyc.yaml
! halley: cyc.yaml:5:17: plan.tp and plan.pp follow from each other
? 1

## 91: no design is valid
$ sed 's/\[1, 8\]/[3, 5]/' $DATA/wrong-inputs/study.yaml > none.yaml
$ halley explore none.yaml
! halley: s: none of 2 designs is feasible (2: the degrees do not divide the NPUs)
? 1

## 92: a study with CRLF and a byte order mark
$ (printf '\357\273\277'; sed 's/$/\r/' $DATA/wrong-inputs/study.yaml) > bom.yaml
$ halley explore bom.yaml | head -1
> s: 2 designs evaluated of 2, 1 feasible

## 93: results of a file that is no store
$ cp $DATA/wrong-inputs/study.yaml ok.yaml
$ halley results ok.yaml
! halley: ok.yaml: this is not a store of halley explore
? 1

## 94: sim without anything
$ halley sim
! halley: a trace and a cluster are needed: --cluster, or --system-configuration and --network-configuration; or --replay
! see 'halley sim --help'
? 2

## 95: a network without a system
$ cp $DATA/wrong-inputs/net.yml .
$ halley trace gen all-reduce -n 8 -o ar > /dev/null
$ halley sim --workload-configuration ar --network-configuration net.yml
! halley: --system-configuration is missing
! see 'halley sim --help'
? 2

## 96: an ns-3 configuration as a network
$ cp $DATA/wrong-inputs/sys.json .
$ printf 'ENABLE_QCN 1\nUSE_DYNAMIC_PFC_THRESHOLD 1\nTOPOLOGY_FILE ../topology.txt\n' > ns3.txt
$ halley trace gen all-reduce -n 8 -o ar > /dev/null
$ halley sim --workload-configuration ar --network-configuration ns3.txt --system-configuration sys.json
! halley: ns3.txt: this is an ns-3 configuration; halley help topology says how a network is described
? 1

## 97: an ns-3 topology as a network
$ cp $DATA/wrong-inputs/sys.json .
$ printf '33 1 32\n32\n0 32 400Gbps 0.0005ms 0\n' > topo.txt
$ halley trace gen all-reduce -n 8 -o ar > /dev/null
$ halley sim --workload-configuration ar --network-configuration topo.txt --system-configuration sys.json
! halley: topo.txt: this is a topology file: name it in a cluster file (network: {file: topo.txt}) or run halley topology show topo.txt
? 1

## 98: more traces than accelerators
$ halley trace gen all-reduce -n 8 -o ar > /dev/null
$ halley sim ar -c dgx-h100:4
! halley: there are traces of 8 ranks, but the network has 4 NPUs
? 1

## 99: a rank that is missing
$ halley trace gen all-reduce -n 8 -o ar > /dev/null
$ rm ar.3.et
$ halley sim ar -c dgx-h100:8
! halley: rank 3 is missing: there is ar.4.et but no ar.3.et; ranks must run from 0 without a gap
? 1

## 100: a trace that is cut
$ halley trace gen all-reduce -n 8 -o ar > /dev/null
$ head -c 51 ar.0.et > cut.et
$ halley sim cut.et -c dgx-h100:1
! halley: cut.et: byte 8: a message of 62 bytes, but the file ends after 42; it is cut (copy it again) or no .et
? 1

## 101: a model as a cluster
$ halley trace gen all-reduce -n 8 -o ar > /dev/null
$ halley sim ar -c llama3-8b
! halley: "llama3-8b" is a model, not a cluster; models are given with --model
? 1

## 102: a recording is described
$ cp $DATA/wrong-inputs/kin.json .
$ halley trace info kin.json | head -3
> kin.json: built in memory
>
> dependencies  1 data, 0 control

## 103: a recording that is converted
$ cp $DATA/wrong-inputs/kin.json .
$ halley trace convert kin.json o.et
! halley: kin.json: this is a Kineto trace: halley trace link kin.json makes a trace of it
? 1

## 104: a model configuration as a trace
$ cp $DATA/wrong-inputs/l8.json .
$ halley trace info l8.json
! halley: l8.json: this is a model configuration, not a trace
? 1

## 105: arguments of link exchanged
$ cp $DATA/wrong-inputs/kin.json .
$ echo '{"schema": "1.1.1-chakra.0.0.4", "pid": 1, "time": "x", "start_ts": 1, "nodes": []}' > host.json
$ halley trace link kin.json host.json -o o.et
! halley: host.json: the execution trace has no nodes
? 1

## 106: a size without a unit
$ halley trace gen all-reduce --size 64 -o g64 > /dev/null
! halley: note: --size 64 is 64 bytes; write '64 MiB' for mebibytes

## 107: a pattern with a typo
$ halley trace gen all-redux
! halley: there is no pattern "all-redux"; did you mean "all-reduce"?
! see 'halley trace gen --help'
? 2

## 108: a rank of many is missing
$ for i in 0 1 2 4 5 6 7; do : > host.$i.json; : > device.$i.json; done
$ halley trace link --ranks host.%d.json device.%d.json -o dl -q
! halley: host.3.json is missing (0-7 found but 3)
? 1

## 109: a command with more letters
$ halley simulate
! halley: no command "simulate"; did you mean sim?
! see 'halley --help'
? 2

## 110: an option as a command
$ halley explain
! halley: no command "explain"; it is an option: estimate --explain, sim --explain
! see 'halley --help'
? 2

## 111: -v is the version
$ halley -v
> halley 0.2.0

## 112: version is the version
$ halley version
> halley 0.2.0

## 113: the singular of a kind
$ halley presets model --csv | grep llama3-8b
> model,llama3-8b

## 114: the singular of another kind
$ halley presets npu --csv | grep h100-sxm
> npu,h100-sxm-80gb

## 115: an option with a typo
$ halley estimate -m llama3-8b -c dgx-h100:8 --global-batch 64 --josn
! halley: unknown option --josn, did you mean --json?
! see 'halley estimate --help'
? 2

## 116: an argument too many
$ halley estimate -m llama3-8b -c dgx-h100:8 --global-batch 64 foo
! halley: estimate takes no arguments, was given 'foo'
! see 'halley estimate --help'
? 2

## 117: runs without a cluster
$ echo '[{"model": "llama3-8b"}]' > runs.json
$ halley score runs.json
> 1 of 1 rows were skipped:
>   1 of : the row has no cluster (key npu)
>
> Set  Of         Rows  Scored  Mean  Median  Bias  Held out  Memory  Rank corr.  Regret  Fitted  Refused
>      step time     1       0                                                                 0  
! halley: no row could be scored, 1 skipped: the row has no cluster (key npu)
? 1

## 118: a full disk
$ halley estimate -m llama3-8b -c dgx-h100:8 --global-batch 64 > /dev/full
! halley: cannot write the results to standard output: No space left on device
? 1

## 119: a closed pipe
$ halley estimate -m llama3-8b -c dgx-h100:8 --global-batch 64 | head -1
> does not fit: stage 0 needs 112 GB, and H100-SXM-80GB has 82.1 GB with 4 % headroom

## a number of accelerators that is none: the words are at fault, whatever the command
$ halley trace gen ring -n 4 -o t > made
$ for n in 0 -1 x 1e30 ''; do for c in 'sim t -c' 'sim -m gpt-3.6b --global-batch 16 -c' 'estimate -m gpt-3.6b --global-batch 16 -c' 'plan -m gpt-3.6b -c' 'trace gen -o u -m gpt-3.6b --global-batch 16 -c' 'topology show' 'topology check' 'topology convert --to ns3 -o u' 'topology compare dgx-a100:8'; do halley $c dgx-h100:$n > made 2> said; echo $? $(head -1 said); done; done | sort | uniq -c
>       9 2 halley: cluster "dgx-h100:": expected a positive number of accelerators after ':', for example dgx-h100:64
>       9 2 halley: cluster "dgx-h100:-1": expected a positive number of accelerators after ':', for example dgx-h100:64
>       9 2 halley: cluster "dgx-h100:0": expected a positive number of accelerators after ':', for example dgx-h100:64
>       9 2 halley: cluster "dgx-h100:1e30": expected a positive number of accelerators after ':', for example dgx-h100:64
>       9 2 halley: cluster "dgx-h100:x": expected a positive number of accelerators after ':', for example dgx-h100:64
$ halley sim t -c dgx-h100:0
! halley: cluster "dgx-h100:0": expected a positive number of accelerators after ':', for example dgx-h100:64
! see 'halley sim --help'
? 2
$ printf 'name: s\nmodel: gpt-3.6b\ncluster: dgx-h100:0\nplan: {global-batch: 64}\nvary: {plan.tp: [1, 2]}\n' > s.yaml; halley explore s.yaml
! halley: s.yaml:3:10: cluster "dgx-h100:0": expected a positive number of accelerators after ':', for example dgx-h100:64
? 1
