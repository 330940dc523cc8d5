# halley estimate: one design, in closed form.

## a design that fits says where its time goes
$ halley estimate -m gpt3-175b -c dgx-a100:1024 --tp 8 --pp 8 --global-batch 1536 --recompute selective
> gpt3-175b on 1024 x A100-SXM4-80GB (dgx-a100)
> tp 8 pp 8 dp 16 zero 1 micro-batch 1 recompute selective sequence-parallel, global batch 1536, sequence 2048, bf16
> assumed: micro-batch 1, sequence 2048 (from the model), bf16, zero 1, sequence parallel, schedule 1f1b
>
> step          20.4 s
> parameters    175 B
> tokens/s      1.54e+05, 150.4 a GPU
> TFLOP/s       1.636e+05, 159.7 a GPU
> MFU           51.2 % of the bf16 peak (causal attention counted by half), 51.9 % with full attention
> HFU           51.4 %, with what is computed again
>
> where the time goes
>   matmuls                      14.6 s   71.3 %
>   attention                    368 ms    1.8 %
>   memory-bound ops             327 ms    1.6 %
>   recomputation               97.4 ms    0.5 %
>   tensor parallel              1.91 s    9.3 %
>   pipeline transfers          37.1 ms    0.2 %
>   data parallel                447 ms    2.2 %
>   pipeline bubble              1.29 s    6.3 %
>   gradient accumulation        775 ms    3.8 %
>   optimizer                   16.3 ms    0.1 %
>   waiting for the slowest      488 ms    2.4 %
>   other                        116 ms    0.6 %
>   forward compute 5.06 s, backward compute 10.2 s; stage 7 sets the pace
>   compute-bound: 71 % of the step is matmuls
>
> memory of the fullest stage (0)
>   weights                     5.59 GB
>   gradients                   11.2 GB
>   optimizer                   2.10 GB
>   activations                 10.2 GB
>   buffers                      400 MB
>   context                     2.00 GB
>   allocated                   29.4 GB
>   device                      31.4 GB of 85.1 GB, 37 %; fits with 4 % headroom
>
> training on 1e+12 tokens
>   time                         77.4 d (75.2 d of steps at 97.1 % goodput), 1.902e+06 GPU-hours
>   energy                     1.24 GWh, a step 3.77 kWh
>   cost                      1.18 MUSD, a step 3.62 USD (capital over its life, and energy)
>   capital                   20.0 MUSD: accelerators 12.3 MUSD, hosts 3.84 MUSD, scale-up 645120 USD, network 3.24 MUSD
>   power, nameplate            1.07 MW of 128 nodes with network and building
>   power, average               665 kW
>
> constants: stack default, 0 fitted, 0 given, the rest defaults
> Expect about 15 % error (19 of 20 runs of a new source within 29 %; from 1355 runs of 15 sources, each left out in turn): no software stack was chosen (-s), so uncalibrated constants were used.
> Comparable runs: dense, software unknown. They are benchmarks; production runs can be 10 to 30 % slower.

## one that does not says which stage and class, and what would
$ halley estimate -m transformer-1t -c comet-baseline:1024 --tp 8 --global-batch 1024 --recompute full
> ...
> stage 0 is over by {*}; most of it is gradients ({*})
>   {*} a step, {*}
> ...

## COMET's question: with expanded memory it fits inside the pod
$ halley estimate -m transformer-1t -c comet-baseline:1024 --tp 8 --global-batch 1024 --micro-batch 8 --zero 2 --recompute full --spread --csv
> ...
> fits,true
> ...
$ halley estimate -m transformer-1t -c comet-baseline:1024 --tp 64 --global-batch 1024 --micro-batch 8 --zero 2 --recompute full --csv
> ...
> fits,true
> ...

## the parts of the JSON add up
$ halley estimate -m llama3-8b -c dgx-h100:8 --fsdp all --global-batch 16 --json | grep -c '"'
> {*}

## a fitted stack has the error of its own runs, where it has such runs
$ halley estimate -m gpt-22b -c dgx-a100:8 --tp 8 --global-batch 4 -s megatron-2022 | tail -1
> Comparable runs: dense, software and chip compared. They are benchmarks; production runs can be 10 to 30 % slower.
$ halley estimate -m mixtral-8x7b -c dgx-a100:8 --tp 8 --global-batch 8 -s megatron-2022 | tail -1
> Comparable runs: mixture of experts, software compared, not with these settings or this chip. They are benchmarks; production runs can be 10 to 30 % slower.

## degrees that do not divide are refused
$ halley estimate -m gpt3-175b -c dgx-a100:1024 --tp 7
! halley: tp 7 does not divide 96 heads; nearest 6, 8
! see 'halley estimate --help'
? 2
$ halley estimate -m llama3-8b -c dgx-a100:48 --tp 3
! halley: tp 3 does not divide 32 heads; nearest 2, 4
! see 'halley estimate --help'
? 2
$ halley estimate -m gpt3-175b -c dgx-a100:8 --global-batch 0
! halley: {*}
! see 'halley estimate --help'
? 2

## an unknown preset is answered with the nearest
$ halley estimate -m gpt3-175 -c dgx-a100:8
! halley: no model "gpt3-175"; did you mean gpt3-175b?
? 1
$ halley estimate -m gpt3-175b -c dgx-a10:8
! halley: no cluster "dgx-a10"; did you mean dgx-a100-40 or dgx-a100?
? 1

## model and cluster must be named
$ halley estimate -m gpt3-175b
! halley: --model and --cluster must be given
! see 'halley estimate --help'
? 2

## an explanation shows operators and constants
$ halley estimate -m mixtral-8x7b -c dgx-h100:8 --tp 2 --ep 8 --global-batch 8 --explain | grep -E 'experts in|hidden-bytes'
>     experts in {*}
>     hidden-bytes {*}

## a plan becomes traces that check
$ halley estimate -m gpt-3.6b -c dgx-a100:8 --tp 2 --pp 2 --virtual 3 --global-batch 8 --trace step --csv > /dev/null; halley trace check step
> step: 8 ranks, 0 errors, 0 warnings, {*}
$ ls | wc -l
> 9

## a cluster file serves, too, and must have a network with units
$ printf 'npus: 8\nnpu: A100-SXM4-80GB\nnetwork:\n  - {topology: switch, size: 8, bandwidth: 300 GB/s, latency: 1 us}\n' > c.yaml; halley estimate -m gpt-3.6b -c c.yaml --tp 8 --global-batch 8 --csv | head -2
> key,value
> model,gpt-3.6b
$ printf 'npus: 8\nnpu: A100-SXM4-80GB\n' > c.yaml; halley estimate -m gpt-3.6b -c c.yaml --tp 8
! halley: c.yaml:{*}network{*}
? 1
$ printf 'npus: 8\nnpu: A100-SXM4-80GB\nnetwork:\n  - {topology: switch, size: 8, bandwidth: 300}\n' > c.yaml; halley estimate -m gpt-3.6b -c c.yaml --tp 8
! halley: c.yaml:4:{*}unit{*}
? 1
$ printf 'npus: 9\nnpu: A100-SXM4-80GB\nnetwork:\n  - {topology: switch, size: 8, bandwidth: 300 GB/s}\n' > c.yaml; halley estimate -m gpt-3.6b -c c.yaml --tp 8
! halley: c.yaml:1:7: npus is 9, and the sizes of the network multiply to 8
? 1

## a number that does not fill whole nodes: whole nodes are paid for, and a note says so
$ halley estimate -m gpt-3.6b -c dgx-h100:12 --global-batch 12 --json > one; halley estimate -m gpt-3.6b -c dgx-h100:16 --global-batch 16 --json > two
! halley: note: 12 is 1.5 nodes of 8: 2 nodes are paid for, 4 GPUs idle
$ halley estimate -m llama3-8b -c gb200-nvl72:2048 --tp 4 > one
! halley: note: 2048 is 28.4 racks of 72: 29 racks are paid for, 40 GPUs idle

## a cluster whose NPU is not described, or of several kinds, cannot be estimated
$ printf 'network: [{topology: switch, size: 8, bandwidth: 300 GB/s}]\n' > c.yaml; halley estimate -m gpt-3.6b -c c.yaml
! halley: cluster "cluster" does not say the peak of its NPU: an estimate needs npu, the name of a preset or a map with peak: {bf16: ...}
? 1
$ printf 'npus: 16\nkinds: [{npu: h100-sxm-80gb, nodes: 0}, {npu: h200-sxm-141gb, nodes: 1}]\nnodes: {npus: 8, up: nvlink4-h100}\nnetwork: ib-ndr\n' > c.yaml; halley estimate -m gpt-3.6b -c c.yaml
! halley: cluster "cluster" has 2 kinds of NPU, and estimates know one so far
? 1

## plans cut unevenly, number ranks otherwise, and recompute a part
$ halley estimate -m gpt-3.6b -c dgx-a100:8 --pp 4 --stage-layers 8,8,7,7 --rank-order pp-tp-cp-dp --recompute full --recompute-every 2 --recompute-layers 4 --global-batch 8 | sed -n 2p
> tp 1 pp 4 dp 2 zero 1 micro-batch 1 recompute full every 2 of 4 layers order pp-tp-cp-dp, global batch 8, sequence 2048, bf16
$ halley estimate -m gpt-3.6b -c dgx-a100:8 --pp 4 --stage-layers 8,8,7
! halley: layers are given for 3 stages, the pipeline has 4
! see 'halley estimate --help'
? 2
$ halley estimate -m gpt-3.6b -c dgx-a100:8 --pp 4 --stage-layers 8,8,7,x
! halley: stage-layers needs layers of a stage from 1 to 255, not "x"
! see 'halley estimate --help'
? 2
$ halley estimate -m gpt-3.6b -c dgx-a100:8 --expose tpp
! halley: expose must be one of tp, cp, ep, pp, dp; is "tpp", did you mean "tp"?
! see 'halley estimate --help'
? 2
$ halley estimate -m gpt-3.6b -c dgx-a100:8 --rank-order tp-pp
! halley: rank-order must be one of tp-cp-dp-pp, {*}; is "tp-pp"{*}
! see 'halley estimate --help'
? 2
$ halley estimate -m gpt-3.6b -c dgx-a100:8 --recompute-every 2
! halley: recompute-every 2 needs full recomputation, not none
! see 'halley estimate --help'
? 2
$ halley estimate -m gpt-3.6b -c dgx-a100:8 --fsdp some
! halley: fsdp must be a whole number from 0 to 100000000 or "all"; is "some"
! see 'halley estimate --help'
? 2
$ halley estimate -m gpt-3.6b -c dgx-a100:8 --fsdp 3
! halley: the FSDP shard degree 3 does not divide the data-parallel ranks 8
! see 'halley estimate --help'
? 2
$ halley estimate -m gpt-3.6b -c gaudi2:8 --offload optimizer
! halley: there is nothing to offload to: Gaudi2 (gaudi2) has 1 of the 2 memories that takes; describe an NPU with more, as gh200-144gb is
! see 'halley estimate --help'
? 2

## a launch file is model and plan; options win, and the difference is said
$ printf 'torchrun --nproc_per_node 8 --nnodes 2 t.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 --vocab-size 32000 --swiglu --disable-bias-linear --tensor-model-parallel-size 4 --sequence-parallel --micro-batch-size 1 --global-batch-size 64 --bf16 --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather --lr 1e-4\n' > run.sh
$ halley estimate -m run.sh -c dgx-h100 --json | query - /npus /plan/tp /plan/global_batch /plan/zero /import/kind /import/ignored /assumed/0
> 16
> 4
> 64
> 1
> "Megatron-LM script"
> ["--lr"]
> {"key": "npus", "value": "16", "origin": "file", "text": "npus 16: the launch file starts that many"}
$ halley estimate -m run.sh -c dgx-h100:32 --tp 2 --json | query - /npus /plan/tp /warnings/0
> 32
> 2
> "tp 2 (file: 4)"
! halley: note: tp 2 (file: 4)
$ halley estimate -m run.sh -c dgx-h100:8 | head -3
> read as: Megatron-LM script; 17 keys used, 1 without influence, 0 unknown; 16 accelerators
> model:   {*} B parameters; 32 layers, hidden 4096, 32 heads, ffn 10880 gated, vocabulary 32256, tied
> plan:    global-batch 64, seq 4096, {*}

## without a cluster the presets of the device that the file names are offered
$ printf '# for H100\npython t.py --num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 64 --vocab-size 128 --micro-batch-size 1\n' > run.sh
$ halley estimate -m run.sh
! halley: --cluster is missing: the file names h100, and there are dgx-h100{*}, for example -c dgx-h100:64
! see 'halley estimate --help'
? 2

## a DeepSpeed configuration is a plan; as a model it is refused with the remedy
$ printf '{"train_batch_size": 64, "train_micro_batch_size_per_gpu": 2, "zero_optimization": {"stage": 2, "overlap_comm": true}, "bf16": {"enabled": true}}' > ds.json
$ halley estimate -m ds.json -c dgx-h100:8
! halley: ds.json: this is a DeepSpeed configuration, which holds no model: give it with --plan, and a model with -m
? 1
$ halley estimate -m llama3-8b --plan ds.json -c dgx-h100:8 --json | query - /plan/zero /plan/micro_batch /plan/global_batch
> 2
> 2
> 64

## a number format the device does not have is refused by name, with those it has
$ halley estimate -m llama3-8b -c dgx-a100:8 --dtype fp8
! halley: A100-SXM4-80GB has no fp8 (it has bf16, fp16, fp32, tf32)
! see 'halley estimate --help'
? 2
$ halley estimate -m llama3-8b -c dgx-h100:8 --dtype fp4
! halley: H100-SXM-80GB has no fp4 (it has bf16, fp16, fp32, tf32, fp8)
! see 'halley estimate --help'
? 2
$ halley estimate -m llama3-8b -c dgx-1:8 --dtype bf16
! halley: V100-SXM has no bf16 (it has fp16, fp32)
! see 'halley estimate --help'
? 2
$ halley estimate -m llama3-8b -c tpu-v5p-pod:64 --dtype fp8
! halley: TPU-v5p has no fp8 (it has bf16, int8)
! see 'halley estimate --help'
? 2
$ halley estimate -m llama3-8b -c gaudi2:8 --dtype fp4
! halley: Gaudi2 has no fp4 (it has bf16, fp16, fp32, fp8)
! see 'halley estimate --help'
? 2
$ printf 'dtype: fp8\n' > plan.yaml; halley estimate -m llama3-8b -c dgx-a100:8 --plan plan.yaml
! halley: plan.yaml: A100-SXM4-80GB has no fp8 (it has bf16, fp16, fp32, tf32)
? 1

## interleaving obeys its rules, and the nearest valid value is named
$ halley estimate -m gpt3-175b -c dgx-h100:64 --tp 8 --pp 8 --global-batch 1 --virtual 2
! halley: interleaving (virtual 2) needs the number of micro-batches (1) to be a multiple of pp (8): use global batch 8 or virtual 1
! see 'halley estimate --help'
? 2
$ halley estimate -m gpt3-175b -c dgx-h100:64 --tp 8 --pp 8 --global-batch 1 --virtual 4
! halley: interleaving (virtual 4) needs the number of micro-batches (1) to be a multiple of pp (8): use global batch 8 or virtual 1
! see 'halley estimate --help'
? 2
$ halley estimate -m gpt3-175b -c dgx-h100:64 --tp 8 --pp 8 --micro-batch 8 --global-batch 8 --virtual 12
! halley: interleaving (virtual 12) needs the number of micro-batches (1) to be a multiple of pp (8): use global batch 64 or virtual 1
! see 'halley estimate --help'
? 2
$ halley estimate -m gpt3-175b -c dgx-h100:64 --tp 8 --pp 8 --global-batch 8 --virtual 5
! halley: virtual 5: 5 chunks do not divide the 12 layers of a stage; use 2, 3, 4, 6 or 12
! see 'halley estimate --help'
? 2
$ halley estimate -m vit-h-14 -c dgx-h100:96 --pp 12 --virtual 6 --global-batch 96
! halley: interleaving needs equal stages, and 32 layers do not divide by pp 12: use virtual 1, give stage-layers, or choose pp 8
! see 'halley estimate --help'
? 2
$ printf 'tp: 8\npp: 8\nglobal-batch: 12\nvirtual: 2\n' > plan.yaml; halley estimate -m gpt3-175b -c dgx-h100:64 --plan plan.yaml
! halley: plan.yaml: interleaving (virtual 2) needs the number of micro-batches (12) to be a multiple of pp (8): use global batch 16 or virtual 1
? 1

## embedding and head count as layers where only that divides, and the page says so
$ halley estimate -m llama3-405b -c dgx-h100:128 --tp 8 --pp 16 --global-batch 16 | grep assumed
> assumed: micro-batch 1, sequence 8192 (from the model), bf16, sequence parallel, schedule 1f1b, embeddings as layers (126 + 2), recompute none

## a cluster without a number, a batch in tokens
$ halley estimate -m llama3-8b -c dgx-h100
! halley: --cluster dgx-h100 does not say how many accelerators: expected a number after ':', for example dgx-h100:64
! see 'halley estimate --help'
? 2
$ halley estimate -m llama3-8b -c dgx-h100:8 --global-batch 4194304
! halley: global batch 4194304 is in sequences, of 8192 tokens each; if 4194304 is the number of tokens, use global batch 512
! see 'halley estimate --help'
? 2
$ halley estimate -m llama3-8b -c dgx-h100:12 --global-batch 12 2>&1 >/dev/null
> halley: note: 12 is 1.5 nodes of 8: 2 nodes are paid for, 4 GPUs idle

## an NPU without a name, and one so slow that sums of its times are rounded by seconds
$ printf 'npu: {peak: {bf16: 1 FLOP/s}, memory: [{name: hbm, capacity: 80 GB, bandwidth: 1 B/s}]}\nnetwork: [{topology: ring, size: 2, bandwidth: 10 GB/s, latency: 1 us}]\n' > slow.yaml
$ halley estimate -m llama3-8b -c slow.yaml | sed -n 1,3p
> does not fit: stage 0 needs 148 GB, and unnamed NPU has 76.8 GB with 4 % headroom
>
> llama3-8b on 2 x unnamed NPU (cluster)
$ halley estimate -m llama3-8b -c slow.yaml --dtype fp8
! halley: unnamed NPU has no fp8 (it has bf16)
! see 'halley estimate --help'
? 2

## what does not fit says so first, and with --strict exits 1
$ halley estimate -m llama3-70b -c dgx-h100:8 --tp 8 --zero 0 | head -1
> does not fit: stage 0 needs 186 GB, and H100-SXM-80GB has 82.1 GB with 4 % headroom
$ halley estimate -m llama3-70b -c dgx-h100:8 --tp 8 --zero 0 --strict --json | grep '"fit'
>   "fits": false,
>   "fit": "does-not-fit",
! halley: the design does not fit: stage 0 is over by 104 GB
$ halley estimate -m llama3-70b -c dgx-h100:8 --tp 8 --zero 0 --strict > /dev/null
! halley: the design does not fit: stage 0 is over by 104 GB
? 1
$ halley estimate -m llama3-8b -c dgx-h100:8 --tp 8 --strict --headroom '10 %' | grep device
>   device                      26.6 GB of 85.5 GB, 31 %; fits with 10 % headroom

## other plans that fit are found before more accelerators are asked for
$ halley estimate -m llama3-8b -c dgx-h100:8 --global-batch 8 --zero 0 | grep -A3 'stage 0 is over'
> stage 0 is over by 114 GB; most of it is optimizer (96.4 GB)
>   weights gathered layer by layer (FSDP): {*} ms a step, 69.0 GB
>   tensor parallelism 4 instead of 1: {*} ms a step, 50.8 GB
>   tensor parallelism 8 instead of 1: {*} s a step, 26.6 GB
$ halley estimate -m gpt-1t -c dgx-h100:8 --tp 8 | grep -A2 'is over'
> stage 0 is over by 2.22 TB; most of it is optimizer (1.51 TB)
>   no plan fits: more accelerators or more memory are needed
>
$ halley estimate -m deepseek-v3 -c dgx-h100:64 | grep -A1 'another plan'
>   no single change makes it fit; another plan does: tp 1 pp 1 dp 64 ep 2 fsdp 64 micro-batch 1 recompute minimal offload optimizer,gradients,activations
>   (`halley plan --all` finds the fastest)

## sizes that no model or plan has are refused
$ halley presets gpt-7.5b | sed 's/^layers: .*/layers: 600/' > deep.yaml; halley estimate -m deep.yaml -c dgx-a100:64 --pp 2 --virtual 300 --global-batch 512
! halley: virtual is 300, at most 256 chunks per stage are possible
! see 'halley estimate --help'
? 2
$ halley presets gpt-7.5b | sed 's/^layers: .*/layers: 4000000000/' > deep.yaml; halley estimate -m deep.yaml -c dgx-a100:64
! halley: {*}model "gpt-7.5b": at most 4096 layers and a hidden size of 16777216 are possible, not 4000000000 and 4096
? 1
$ halley presets gpt-7.5b | sed 's/^hidden: .*/hidden: 4000000000/' > wide.yaml; halley estimate -m wide.yaml -c dgx-a100:64
! halley: {*}model "gpt-7.5b": at most 4096 layers and a hidden size of 16777216 are possible, not 36 and 4000000000
? 1

## scaling factors that the device does not apply are refused by name
$ halley estimate -m llama3-8b -c dgx-h100:8 --dtype mxfp8
! halley: H100-SXM-80GB has no mxfp8: its matmul units scale no blocks (it has fp8 with fp8-recipe tensor, row or block)
! see 'halley estimate --help'
? 2
$ halley estimate -m llama3-8b -c mi355x:8 --dtype nvfp4
! halley: MI355X has no nvfp4 (it has mxfp4)
! see 'halley estimate --help'
? 2
$ halley estimate -m llama3-8b -c dgx-b200:8 --dtype fp8 --fp8-recipe nv
! halley: fp8-recipe nv needs dtype fp4, not fp8
! see 'halley estimate --help'
? 2
$ halley estimate -m llama3-8b -c dgx-b200:8 --dtype fp4 --fp8-recipe block
! halley: fp8-recipe block needs dtype fp8; fp4 has mx and nv
! see 'halley estimate --help'
? 2
$ halley estimate -m llama3-8b -c mi355x:8 --dtype mxfp4 --fsdp all | sed -n 2p
> tp 1 pp 1 dp 8 fsdp 8 micro-batch 1 recompute none, global batch 8, sequence 8192, mxfp4
$ halley plan -m llama3-8b -c dgx-b200:8 --dtype nvfp4 --global-batch 64 --top 1 | sed -n 2p
> global batch 64, sequence 8192, nvfp4

## keys that mean nothing for a model are refused
$ halley estimate -m stable-diffusion-2-unet -c dgx-a100:8 --ep 8
! halley: model "stable-diffusion-2-unet" is no transformer: only data parallelism cuts it
! see 'halley estimate --help'
? 2
$ halley estimate -m dlrm-dcnv2 -c dgx-h100:8 --lora 8
! halley: lora 8 needs a transformer, and model "dlrm-dcnv2" is none
! see 'halley estimate --help'
? 2
$ halley estimate -m resnet-50 -c dgx-h100:8 --expert-skew 0.5
! halley: capacity and expert-skew need a model with experts
! see 'halley estimate --help'
? 2

## the length of a run is positive, and the number of accelerators bounded
$ halley estimate -m llama3-8b -c dgx-h100:8 --tokens -5
! halley: --tokens must be at least 1, is -5
! see 'halley estimate --help'
? 2
$ halley plan -m llama3-8b -c dgx-h100:8 --global-batch 64 --tokens 0
! halley: --tokens must be at least 1, is 0
! see 'halley plan --help'
? 2
$ halley estimate -m llama3-8b -c dgx-h100:1000000000
! halley: cluster "dgx-h100:1000000000": the number of accelerators must be between 1 and 100000000
! see 'halley estimate --help'
? 2

## ranks leave places of a node free where that keeps groups whole without a further node
$ halley estimate -m qwen3-30b-a3b -c gb200-nvl72:256 --ep 64 --global-batch 2048 | grep ^step
> step          2.76 s
! halley: note: 256 is 3.6 racks of 72: 4 racks are paid for, 32 GPUs idle
! halley: note: ranks fill 64 of the 72 places of a node, so that nodes do not split groups of 64 ranks
$ halley estimate -m llama3-8b -c gb200-nvl72:512 --tp 2 --cp 4 --global-batch 512 | grep ^step
> step          562 ms
! halley: note: 512 is 7.1 racks of 72: 8 racks are paid for, 64 GPUs idle
! halley: note: ranks fill 64 of the 72 places of a node, so that the last node is not nearly empty

## where groups do not fit so, they are split, and the step is longer
$ halley estimate -m qwen3-30b-a3b -c gb200-nvl72:1024 --ep 64 --global-batch 8192 | grep ^step
> step          9.32 s
! halley: note: 1024 is 14.2 racks of 72: 15 racks are paid for, 56 GPUs idle
! halley: note: nodes of 72 split groups of 64 ranks, which then communicate between nodes; a cluster with nodes of 64 (nodes: {npus: 64}) needs more nodes and does not

## plain fp4 has the scaling factors that the device applies
$ halley estimate -m llama3-8b -c dgx-b200:8 --dtype fp4 --global-batch 64 | sed -n 2,3p
> tp 1 pp 1 dp 8 zero 1 micro-batch 1 recompute none, global batch 64, sequence 8192, nvfp4
> assumed: micro-batch 1, sequence 8192 (from the model), nvfp4, zero 1, recompute none
$ halley estimate -m llama3-8b -c mi355x:8 --dtype fp4 --global-batch 64 | sed -n 2,3p
> tp 1 pp 1 dp 8 zero 1 micro-batch 1 recompute none, global batch 64, sequence 8192, mxfp4
> assumed: micro-batch 1, sequence 8192 (from the model), mxfp4, zero 1, recompute none
$ halley estimate -m llama3-8b -c mi355x:8 --dtype fp4 --fp8-recipe tensor --global-batch 64
! halley: fp8-recipe tensor needs dtype fp8; fp4 has mx and nv
! see 'halley estimate --help'
? 2

## a stage that offloads more than its host memory has does not fit, whichever is fullest
$ halley estimate -m gpt-1t -c dgx-a100:64 --pp 64 --zero 0 --micro-batch 4 --offload optimizer,weights,activations --global-batch 512 | head -n 1
> does not fit: stage 0 offloads 1.14 TB to a memory of 256 GB

## a recommendation model counts samples, lookups and its exchange; its verdict names memory
$ halley estimate -m dlrm-1t -c comet-baseline:64 --global-batch 65536 --micro-batch 1024 | sed -n '1,3p; /samples/p; /lookups/p; /exchange/p; /optimizer/p; /device/p'; halley estimate -m dlrm-1t -c comet-baseline:64 --global-batch 65536 --micro-batch 1024 --optimizer-memory 0 | grep -c optimizer; halley estimate -m llama3-8b -c dgx-h100:8 --table-optimizer sgd
> dlrm-1t on 64 x comet-npu (comet-baseline)
> tp 1 pp 1 dp 64 ep 64 zero 1 micro-batch 1024 recompute none, global batch 65536 samples, bf16
> tp 1 pp 1 dp 64 ep 64 zero 1 micro-batch 1024 recompute none, global batch 65536 samples, bf16
> assumed: bf16, zero 1, recompute none
> samples/s     6.491e+05, 1.014e+04 a accelerator
>   lookups and activations     72.1 ms   71.4 %
>   embedding exchange          12.3 ms   12.2 %
>   optimizer                   1.85 ms    1.8 %
>   memory-bound: 71 % of the step is embedding and memory traffic. Also 12 % is exposed embedding exchange
>   optimizer                    652 MB
>   device                      58.7 GB of 80.0 GB, 73 %; fits with 4 % headroom
> training on 1e+12 samples
>   cost                      19388 USD, a step 0.00126 USD, 0.0194 USD per million samples (capital over its life, and energy)
> 1
! halley: table-optimizer needs embedding tables, and model "llama3-8b" has none
! see 'halley estimate --help'
? 2

## on a torus, an explanation says where groups are and how many of its links they get
$ halley estimate -m llama3-70b -c tpu-v4-pod:4096 --tp 8 --global-batch 512 --explain | grep -A 2 'groups on the grid'
>   groups on the grid    
>     tp                   = 8 ranks, x2 y2 z2: 3 of 6 links, 1.018 of the lower bound
>     dp                   = 512 ranks, x8 y8 z8: 3 of 6 links, 1.001 of the lower bound
