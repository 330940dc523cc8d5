# The command line as such: what every command has in common.

## the version is one line
$ halley --version
> halley {*}.{*}.{*}

## without a command the overview is shown
$ halley > bare
$ halley --help > long
$ halley -h > short
$ halley help > command
$ cmp bare long && cmp bare short && cmp bare command && head -3 bare
> usage: halley COMMAND [OPTIONS] ...
>
> halley - how fast a model will train on a cluster before it exists, and why

## a group lists its commands
$ halley trace
> usage: halley trace COMMAND [OPTIONS] ...
> ...
$ halley trace > a; halley trace --help > b; halley help trace > c; cmp a b && cmp a c

## help of a command by option and by command is the same
$ halley help help
> usage: halley help [OPTIONS] [COMMAND|FILE]
>
> halley help - explain a command or a file format
>
> Shows the help of COMMAND, as 'halley COMMAND --help' does. Without arguments,
> lists the commands and the file formats. With the name of a file format
> (cluster, json, model, plan-file, stack or study), lists its keys.
>
> options:
>       --man                 write the manual page (roff) of COMMAND, or of
>                             halley
>       --completion          write the completion script for bash
>       --max-memory SIZE     largest amount of memory to use (default:
>                             HALLEY_MAX_MEMORY, else half of the machine's;
>                             example: 8 GB)
>   -h, --help                show this help
>
> examples:
>   halley help trace
>       list the commands that work on traces
>   halley help study
>       list the keys of a study file
>   halley help --completion > /etc/bash_completion.d/halley
$ halley help help > a; halley help --help > b; halley help -h > c; cmp a b && cmp a c

## an unknown command is named and a near one offered
$ halley hepl
! halley: no command "hepl"; did you mean help?
! see 'halley --help'
? 2
$ halley xyzzy
! halley: no command "xyzzy"
! see 'halley --help'
? 2

## an unknown sub-command is named with its group
$ halley trace xyzzy
! halley: no command "trace xyzzy"
! see 'halley trace --help'
? 2
$ halley help trace xyzzy
! halley: no command "trace xyzzy"
! see 'halley help --help'
? 2

## an unknown option is named and a near one offered
$ halley help --compltion
! halley: unknown option --compltion, did you mean --completion?
! see 'halley help --help'
? 2
$ halley help -x
! halley: unknown option -x
! see 'halley help --help'
? 2
$ halley --versoin
! halley: unknown option --versoin, did you mean --version?
! see 'halley --help'
? 2
$ halley trace --json
! halley: trace needs a command before --json
! see 'halley trace --help'
? 2

## a flag takes no value
$ halley help --man=5
! halley: --man takes no value
! see 'halley help --help'
? 2

## too many arguments are counted
$ halley help a b c
! halley: help takes at most 2 arguments ([COMMAND|FILE]), was given 3
! see 'halley help --help'
? 2

## results that standard output does not take are a failure
$ halley --version > /dev/full
! halley: cannot write the results to standard output: No space left on device
? 1
$ halley help --completion > /dev/full
! halley: cannot write the results to standard output: No space left on device
? 1
$ halley --version >&-
! halley: cannot write the results to standard output: Bad file descriptor
? 1

## a reader that stops early is no failure
$ (halley help --completion; echo $? > code) | true; test "$(cat code)" != 1

## the completion script is bash
$ halley help --completion | bash -n
$ halley help --completion > c; bash -c '. ./c; COMP_WORDS=(halley he); COMP_CWORD=1; _halley; echo ${COMPREPLY[*]}'
> help
$ halley help --completion > c; bash -c '. ./c; COMP_WORDS=(halley help --co); COMP_CWORD=2; _halley; echo ${COMPREPLY[*]}'
> --completion

## the synopsis of every man page is the usage line of --help
$ halley help | sed -n '/^file formats/q; s/^  \([a-z]* *[a-z]*\)  .*/\1/p' | while read c; do halley help --man $c | sed -n '/^.SH SYNOPSIS/,/^.fi/{/^halley/p}' > man; halley $c --help | sed -n 's/^usage: //p' > help; cmp man help || echo differs: $c; done; test -s help

## the keys of cluster files come from the tables that read them
$ halley help cluster | sed -n '/^keys of npu/,/^$/p'
> keys of npu:
>   name                      name of the device; without other keys, name of a
>                             preset (default: none; example: H100-SXM-80GB)
>   type                      what sentences call it: accelerator, gpu, tpu
>                             (default: accelerator)
>   peak                      dense FLOP/s: one number for 16-bit work, or by
>                             number format (required for compute times; example:
>                             {bf16: 989 TFLOP/s, fp8: 1979 TFLOP/s})
>   cores                     cores that the tiles of a matmul are distributed
>                             over (default: 100; example: 132)
>   on-chip                   memory on the chip (shared cache) (default: 0;
>                             example: 50 MB)
>   memory                    memories, nearest first (default: none; example:
>                             [{name: hbm, capacity: 80 GB, bandwidth: 3350
>                             GB/s}])
>   gemm                      measured rates of 16-bit matmuls (default: those of
>                             a generic device; example: {efficiency: 0.8, launch:
>                             3 us})
>   gemm-fp8                  measured rates of 8-bit matmuls (default: gemm;
>                             example: {efficiency: 0.7})
>   gemm-fp8-cast             rates of 8-bit matmuls with a cast, as in serving
>                             kernels (default: those of a generic device;
>                             example: {efficiency: 0.6})
>   fp8-any-order             whether 8-bit matmuls read operands in either order,
>                             so that no transposed copy of the weights is kept
>                             (default: no; example: yes)
>   scales                    block scales that matmul units apply: mx (mxfp8,
>                             mxfp4), or nv (nvfp4, too): none, mx, nv (default:
>                             nv where peak has fp4, else none; example: mx)
>   cast                      launch time and memory share of that cast (default:
>                             none; example: {launch: 3 us, memory-share: 50 %})
>   round-to                  matmul sizes are rounded up to a multiple of this
>                             (default: 0, no rounding; example: 128)
>   attention                 measured rates of fused attention (default: those of
>                             a generic device; example: {share: [0.54, 0.68,
>                             0.78, 0.8], half-length: 500})
>   memory-share              share of the memory bandwidth that streaming kernels
>                             reach (default: 80 %; example: 90 %)
>   misaligned                factors of time for matmul sizes that tensor cores
>                             handle badly (default: {n64: 1.1, n8: 1.5, head-8:
>                             2, head-2: 4}; example: {n64: 1.2})
>   power                     power at full load (default: 0; example: 700 W)
>   price                     price of one device (default: unknown: money is then
>                             a lower bound; example: 28000 USD)
>   sold                      no: it is only rented, and `price` is imputed from
>                             its rent (default: yes; example: no)
>   sources                   where the numbers come from; for readers only
>                             (default: none; example: [https://www.nvidia.com])
>

## files have pages made from the tables that read them
$ halley help plan-file | grep -c -E '^  (tp|rank-order|stage-layers|offload) '
> 4
$ halley help model | grep -c -E '^  (layers|kv-rank|flops) '
> 3
$ halley help stack | grep -c -E '^  (framework|fit|hidden-bytes|memory-fixed) '
> 4

## the version, in all ways people ask for it
$ halley --version > a; halley -v > b; halley version > c; cmp a b && cmp a c

## the overview lists the file formats, each of which has a page
$ halley help | sed -n '/^file formats/,/^$/p'
> file formats:
>   cluster           devices, nodes, network and cost of a cluster
>   json              requests in JSON, and the keys of results
>   model             the architecture of a model
>   plan-file         how a model is parallelized and trained
>   stack             calibrated constants of training software
>   study             a space of designs, conditions and objectives
>
$ for f in $(halley help | sed -n '/^file formats/,/^$/p' | awk 'NR > 1 {print $1}'); do halley help $f > /dev/null || echo "no page: $f"; done

## options may have the names of training programs
$ halley estimate -m llama3-8b -c dgx-h100:64 --tp 2 --pp 2 --global-batch 128 --micro-batch 2 --seq 4096 --zero 1 > a
$ halley estimate -m llama3-8b -c dgx-h100:64 --tensor-model-parallel-size 2 --pipeline-model-parallel-size=2 --global-batch-size 128 --micro-batch-size 2 --seq-length 4096 --zero-stage 1 > b
$ halley estimate -m llama3-8b -c dgx-h100:64 --tensor_model_parallel_size 2 --pipeline_parallel_degree 2 --gbs 128 --train_micro_batch_size_per_gpu 2 --max-seq-len 4096 --zero_stage=1 > c
$ cmp a b && cmp a c

## words of training programs that are no options are understood
$ halley estimate -m llama3-8b -c dgx-h100:64 --tensor-parallel 2
! halley: unknown option --tensor-parallel, did you mean --tp?
! see 'halley estimate --help'
? 2
$ halley estimate -m llama3-8b -c dgx-h100:64 --gpus 64
! halley: unknown option --gpus; the number of accelerators is part of --cluster, for example --cluster dgx-h100:64
! see 'halley estimate --help'
? 2
$ printf 'tensor: 8\n' > plan.yaml; halley estimate -m llama3-8b -c dgx-h100:64 --plan plan.yaml
! halley: plan.yaml:1:1: unknown key "tensor"; did you mean "tp"?
? 1
$ printf 'name: x\nmodel: llama3-8b\ncluster: dgx-h100:64\nvary: {plan.pipeline_parallel: [1, 2]}\n' > s.yaml; halley explore s.yaml
! halley: s.yaml:4:8: no parameter "plan.pipeline_parallel", did you mean "plan.pp"?
? 1

## a preset of another kind, or named in another way, is recognised
$ halley estimate -m llama3-8b -c h100:64
! halley: no cluster "h100"; did you mean dgx-h100, h100-pcie or hgx-h100-500w?
? 1
$ halley estimate -m llama3-8b -c H100:64
! halley: no cluster "H100"; did you mean dgx-h100, h100-pcie or hgx-h100-500w?
? 1
$ halley estimate -m llama3-8b -c h100-sxm-80gb:64
! halley: "h100-sxm-80gb" is an accelerator, not a cluster; `halley presets clusters` lists clusters, for example dgx-h100:64
? 1
$ halley estimate -m llama3-8b -c gpt3-175b:64
! halley: "gpt3-175b" is a model, not a cluster; models are given with --model
? 1
$ halley estimate -m dgx-h100 -c dgx-h100:64
! halley: "dgx-h100" is a cluster, not a model; clusters are given with --cluster
? 1
$ halley estimate -m dgx-h100:64 -c llama3-8b
! halley: "dgx-h100" is a cluster, "llama3-8b" a model: exchange -m and -c
? 1

## what people call a command leads to it
$ halley simulate
! halley: no command "simulate"; did you mean sim?
! see 'halley --help'
? 2
$ halley optimize
! halley: no command "optimize"; did you mean plan?
! see 'halley --help'
? 2
$ halley predict
! halley: no command "predict"; did you mean estimate?
! see 'halley --help'
? 2
