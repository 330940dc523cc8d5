# halley request: one JSON request, its reply.

## a reply has the bytes that the command prints with --json, in an envelope
$ echo '{"do": "version"}' | halley request
> {"ok": true, "result": {
>   "version": "{*}",
>   "api": 1
> }}
$ echo '{"do": "estimate", "model": "llama3-8b", "cluster": "dgx-h100:8", "tp": 8, "global_batch": 8}' > r.json; halley request r.json | sed '1s/^{"ok": true, "result": //; $s/}$//' > a; halley estimate -m llama3-8b -c dgx-h100:8 --tp 8 --global-batch 8 --json > b; cmp a b

## a request that fails says so in the reply and by the exit code
$ echo '{"do": "versiom"}' | halley request
> {"ok": false, "error": {"code": "usage", "message": "unknown verb \"versiom\", did you mean \"version\"?", "hint": "did you mean \"version\"?"}}
? 1
$ echo 'nonsense' | halley request
> {"ok": false, "error": {"code": "usage", {*}
? 1
$ halley request no-such.json
! halley: no-such.json: no such file
? 1
