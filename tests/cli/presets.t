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
> stack,jax-25

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
> assumed:     attention_bias false, mlp_bias false, tie_word_embeddings false, seq 8192
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

## layers that cannot be timed are counted, and an estimate is refused
$ printf '{"model_type": "mamba", "hidden_size": 2560, "num_hidden_layers": 64, "vocab_size": 50280}' > config.json
$ halley presets config.json --json | query - /timed /untimed
> false
> "Mamba layers"
$ halley estimate -m config.json -c dgx-h100:8
! halley: model "config.json" has Mamba layers, which halley counts but cannot time yet
! ...
? 2
