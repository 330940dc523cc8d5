# halley trace link: recordings of real runs.

## two recordings become a trace that passes the checks
$ halley trace link $DATA/recording/host.0.json $DATA/recording/device.0.json -o a.et | grep -E 'linked|dropped|recorded|replayed'
> linked by record function id           11
> kernels linked                         4
> copies linked                          1
> recorded                               1.45 ms
> replayed                               1.47 ms
$ halley trace check a.et
> a.et: 1 rank, 0 errors, 0 warnings, 1 note (--notes lists them); one rank alone, nothing to compare it with

## what is linked can be simulated as it was recorded
$ halley trace link $DATA/recording/host.0.json $DATA/recording/device.0.json -o a.et | grep -E 'replayed|lost'
> replayed                               1.47 ms
> lost in replay: from launch to device  -20.8 us
> lost in replay: on devices             1.25 us
$ halley sim a.et --replay | head -3
> 1.47 ms on 1 rank
>
> Per rank                    Mean    Least     Most  On rank
$ halley sim a.et --replay -c a.yaml
! halley: --replay needs no cluster
! see 'halley sim --help'
? 2

## many ranks have one clock
$ halley trace link --ranks $DATA/recording/host.%d.json $DATA/recording/device.%d.json -o step
> Rank  Host nodes  Linked  Device  Dropped  Communication  Nodes  Edges  Recorded  Replayed     Clock
>    0          14  78.6 %       5        0              1     36     70   1.45 ms   1.47 ms       0 s
>    1          14  78.6 %       5        0              1     35     68   1.45 ms   1.47 ms  -2.50 ms
$ ls; halley trace check step
> step.0.et
> step.1.et
> step.comm_group.json
> step: 2 ranks, 0 errors, 0 warnings, 2 notes (--notes lists them)

## gzipped recordings are read as they are
$ gzip -c $DATA/recording/host.0.json > h.gz; gzip -c $DATA/recording/device.0.json > d.gz
$ halley trace link -q h.gz d.gz -o a.et; halley trace link -q $DATA/recording/host.0.json $DATA/recording/device.0.json -o b.et; cmp a.et b.et

## a host trace alone has order, shapes and communication
$ halley trace link $DATA/recording/host.0.json -o a.et --csv | cut -d, -f1-3
> rank,schema,n_host_nodes
> 0,1.1.0-chakra.0.0.4,14

## host and device are told apart by their content, whatever their order
$ halley trace link -q $DATA/recording/device.0.json $DATA/recording/host.0.json -o a.et; halley trace link -q $DATA/recording/host.0.json $DATA/recording/device.0.json -o b.et; cmp a.et b.et

## a folder of pairs links as --ranks does
$ halley trace link -q $DATA/recording -o all/; halley trace link -q --ranks "$DATA/recording/host.%d.json" "$DATA/recording/device.%d.json" -o some; cmp all/trace.0.et some.0.et; cmp all/trace.1.et some.1.et

## a recording alone becomes a trace whose replay is the recording
$ halley trace link $DATA/recordings/window_edge.json -o new/edge.et --json | query - /ranks/0/recorded_s /ranks/0/replayed_s /ranks/0/n_kernels
> 0.0006
> 0.0006
> 2
! halley: 1 of 2 device events (48.7 % of device time) were launched before the window or by no recorded call; they start at their recorded time
! halley: the device is unknown: name it with --recorded-on
$ halley sim new/edge.et --replay --json | query - /time_s; halley trace check new/edge.et
> 0.0006
> new/edge.et: 1 rank, 0 errors, 0 warnings, 1 note (--notes lists them); one rank alone, nothing to compare it with
$ halley trace link $DATA/recordings/nsys_2024.sqlite -o table 2> notes | cut -c1-40
> Rank  Host nodes  Linked  Device  Droppe
>    0          13   100 %      16        
>    1           0               2        
$ halley trace link -q $DATA/recordings/nsys_2024.sqlite -o nsys; ls nsys.*; halley sim nsys --replay --json | query - /time_s
> nsys.0.et
> nsys.1.et
> 0.001061
! halley: 2 processes: each is a rank of its own; name one with --pid
! halley: no operators: only streams and kernels are known
! halley: 8 device events come from 1 captured graphs
! halley: communication without sizes: it stays work of the recorded length
! halley: rank 1: 2 of 2 device events (100.0 % of device time) were launched before the window or by no recorded call; they start at their recorded time
! halley: rank 1: no steps marked
! halley: rank 0: 2 communications of unknown size or peer are kept as work of recorded length
$ halley trace link -q --pid 4711 $DATA/recordings/nsys_2020.sqlite -o one.et; ls one*
> one.et
! halley: no operators: only streams and kernels are known
! halley: 8 device events come from 1 captured graphs
! halley: communication without sizes: it stays work of the recorded length
! halley: rank 0: 2 communications of unknown size or peer are kept as work of recorded length

## the i-th rank of a pattern, a rank that is missing, two runs
$ for r in 0 1 3; do sed "s/\"schemaVersion\": 1/\"schemaVersion\": 1, \"distributedInfo\": {\"rank\": $r, \"world_size\": 4}/" $DATA/recordings/window_edge.json > k.$r.json; done
$ halley trace link -q k.0.json k.1.json -o two; ls two.*
> two.0.et
> two.1.et
! halley: 1 of 2 device events (48.7 % of device time) were launched before the window or by no recorded call; they start at their recorded time
! halley: the device is unknown: name it with --recorded-on
! halley: 2 of 4 ranks: the others are not there
$ halley trace link --ranks 'k.%d.json' -o all
! halley: rank 2 is missing: there is a file of rank 3 (k.3.json)
? 1
$ halley trace link k.0.json k.1.json k.3.json -o all
! halley: rank 2 is missing: there are recordings of ranks 1 and 3, but none between them
? 1
$ halley trace link k.0.json k.0.json -o all
! halley: k.0.json and k.0.json are both rank 0: are these two different runs?
? 1
$ sed 's/"world_size": 4/"world_size": 8/' k.1.json > w.json; halley trace link k.0.json w.json -o all; ls all*
! halley: k.0.json is of a run with 4 ranks and w.json of one with 8: these are two different runs
! ls: cannot access 'all*': No such file or directory
? 2

## bad recordings are refused or said to be odd
$ halley trace link $DATA/recordings/cut.json -o a.et
! halley: {*}cut.json: the file ends inside event 4 of traceEvents (byte 536); --partial reads the whole events
? 1
$ halley trace link -q --partial $DATA/recordings/cut.json -o a.et
! halley: no device events: this is a host-only recording
! halley: the file is cut: only its first 3 events were read
$ halley trace link $DATA/recordings/not_nsys.sqlite -o b.et
! halley: {*}not_nsys.sqlite: SQLite, but not an nsys export: no table CUPTI_ACTIVITY_KIND_KERNEL
? 1
$ halley trace link $DATA/recordings/nsys_no_gpu.sqlite -o b.et
! halley: {*}nsys_no_gpu.sqlite: an nsys export without GPU activity: it was recorded without --trace=cuda
? 1
$ head -c 300 $DATA/recordings/tiny_gpu.xplane.pb > cut.pb; halley trace link cut.pb -o b.et
! halley: cut.pb: the file is no XSpace protobuf, or it is cut
? 1
$ printf '[]' > none.json; halley trace link none.json -o b.et
! halley: none.json: not a recording that halley reads: expected Kineto JSON, a PyTorch execution trace, an nsys SQLite export, an xplane.pb, or rocprofv3 JSON or CSV
? 1
$ printf '[{"ph": "i", "name": "x"}]' > none.json; halley trace link none.json -o b.et
! halley: none.json: none of its 1 events is an operator, a runtime call or a kernel
? 1
$ printf '{"model_type": "llama"}' > config.json; halley trace link config.json -o b.et
! halley: config.json: this is a Hugging Face config.json: `halley estimate -m FILE` takes it
? 1
$ truncate -s 10G sparse; halley trace link sparse -o b.et
! halley: sparse: not a recording that halley reads: expected Kineto JSON, a PyTorch execution trace, an nsys SQLite export, an xplane.pb, or rocprofv3 JSON or CSV
? 1
$ mkdir empty; halley trace link empty -o b.et; halley trace link missing.json -o b.et
! halley: empty: the folder holds no recording
! halley: missing.json: no such file
? 1
$ printf '{"rules": [{"class": "x", "match": "("}]}' > rules.json; halley trace link --rules rules.json $DATA/recordings/window_edge.json -o b.et
! halley: rules.json:1:39: byte 38: the expression "(" is wrong at byte 2: missing closing parenthesis
? 1
$ ls b.et
! ls: cannot access 'b.et': No such file or directory
? 2

## what is odd in a Kineto file is said, and the rest is read
$ for f in clock_jump negative duplicate_ids no_device; do echo $f; halley trace link -q $DATA/recordings/$f.json -o $f.et 2>&1 | grep -vE 'device is unknown|before the window|no steps'; halley trace check $f.et | grep -c ' 0 errors'; done
> clock_jump
> halley: gap of 8999 s on stream 7: a jump of the clock
> 1
> negative
> halley: event 6: negative duration -5 us; 1 such events were dropped
> 1
> duplicate_ids
> halley: correlation 7 has two launches; the one nearest before its kernel is taken (1 such cases)
> 1
> no_device
> halley: no device events: this is a host-only recording
> 1

## an nsys export that is cut, of another schema, or damaged
$ printf 'import shutil, sqlite3, sys\nshutil.copyfile(sys.argv[1], sys.argv[2])\nd = sqlite3.connect(sys.argv[2])\nd.execute(sys.argv[3])\nd.commit()\n' > alter.py; cp $DATA/recordings/nsys_2024.sqlite whole
$ head -c 20000 whole > cut.sqlite; halley trace link cut.sqlite -o b
! halley: cut.sqlite: the SQLite file is cut: 20000 of its 53248 bytes are there; copy or export it again
? 1
$ python3 alter.py whole later.sqlite "update META_DATA_EXPORT set value = '9.1.0' where name = 'EXPORT_SCHEMA_VERSION'"; halley trace link -q --pid 4711 later.sqlite -o later.et 2>&1 | head -1
> halley: the export's schema 9.1.0 is newer than the one halley knows (3); the columns it needs are there
$ python3 alter.py whole other.sqlite 'alter table CUPTI_ACTIVITY_KIND_KERNEL rename column start to begin'; halley trace link other.sqlite -o b
! halley: other.sqlite: an nsys export of a schema version that halley does not know: CUPTI_ACTIVITY_KIND_KERNEL has no column start
? 1
$ python3 alter.py whole times.sqlite 'update CUPTI_ACTIVITY_KIND_KERNEL set end = start - 5000'; halley trace link -q --pid 4711 times.sqlite -o times.et 2>&1 | grep negative
> halley: event 1: negative duration -5 us; 12 such events were dropped
$ python3 -c "d = bytearray(open('whole', 'rb').read()); d[4096::97] = bytes(b ^ 255 for b in d[4096::97]); open('noise.sqlite', 'wb').write(d)"; halley trace link noise.sqlite -o b
! halley: noise.sqlite: cannot read the export: database disk image is malformed
? 1
$ gzip -c whole | head -c 1000 > half.sqlite.gz; halley trace link half.sqlite.gz -o b; ls b
! halley: half.sqlite.gz: the gzip file is cut short near byte 1000 of the compressed file; copy or download it again (gzip -t checks it)
! ls: cannot access 'b': No such file or directory
? 2

## an xplane that is cut, or of another version
$ { cat $DATA/recordings/tiny_gpu.xplane.pb; printf '\172\003abc\010\005'; } > later.xplane.pb; halley trace link -q later.xplane.pb -o x/ 2>&1 | head -1
> halley: the xplane is of another version of the format: 2 fields that halley does not know were left out
$ : > empty.xplane.pb; halley trace link empty.xplane.pb -o b; head -c 1000 $DATA/recordings/tiny_gpu.xplane.pb > cut.xplane.pb; halley trace link cut.xplane.pb -o b
! halley: empty.xplane.pb: not a recording that halley reads: expected Kineto JSON, a PyTorch execution trace, an nsys SQLite export, an xplane.pb, or rocprofv3 JSON or CSV
! halley: cut.xplane.pb: the file is no XSpace protobuf, or it is cut
? 1

## rocprofv3's JSON and CSV, cut or without what is needed
$ head -c 600 $DATA/recordings/roc_tiny.json > cut.json; halley trace link cut.json -o b
! halley: cut.json:1:593: byte 592: a string without its closing quote; the file is cut
? 1
$ printf '{"rocprofiler-sdk-tool": []}' > none.json; halley trace link none.json -o b
! halley: none.json:1:28: byte 27: rocprofv3's JSON has no "rocprofiler-sdk-tool"
? 1
$ printf '{"rocprofiler-sdk-tool": [{"buffer_records": {}}]}' > empty.json; halley trace link empty.json -o b
! halley: empty.json: none of its 0 events is an operator, a runtime call or a kernel
? 1
$ head -1 $DATA/recordings/roc_kernel_trace.csv > head_kernel_trace.csv; halley trace link head_kernel_trace.csv -o b
! halley: head_kernel_trace.csv: none of its 0 events is an operator, a runtime call or a kernel
? 1
$ head -c 500 $DATA/recordings/roc_kernel_trace.csv > cut_kernel_trace.csv; halley trace link cut_kernel_trace.csv -o b
! halley: cut_kernel_trace.csv:3:1: a quoted cell does not end; the file is cut
? 1
$ sed '1s/Start_Timestamp/Begin/' $DATA/recordings/roc_kernel_trace.csv > other_kernel_trace.csv; halley trace link other_kernel_trace.csv -o b
! halley: other_kernel_trace.csv: not a recording that halley reads: expected Kineto JSON, a PyTorch execution trace, an nsys SQLite export, an xplane.pb, or rocprofv3 JSON or CSV
? 1

## what cannot be written is named as it would be called
$ halley trace link -q $DATA/recordings/window_edge.json -o no/such/a.et; halley trace link -q $DATA/recordings/nsys_2024.sqlite -o no/such/; halley trace link -q $DATA/recordings/window_edge.json -o /dev/full
! halley: cannot write no/such/a.et: its folder does not exist
! halley: cannot write no/such/trace.0.et: its folder does not exist
! halley: cannot write /dev/full: No space left on device
? 1

## what does not belong together is refused, and nothing is written
$ head -c 2000 $DATA/recording/device.0.json > cut.json; halley trace link $DATA/recording/host.0.json cut.json -o a.et
! halley: cut.json:{*}: {*}; the file is cut
? 1
$ gzip -c $DATA/recording/device.0.json | head -c 500 > cut.gz; halley trace link $DATA/recording/host.0.json cut.gz -o a.et
! halley: cut.gz: the gzip file is cut short near byte 500 of the compressed file; copy or download it again (gzip -t checks it)
? 1
$ ls *.et
! ls: cannot access '*.et': No such file or directory
? 2

## names of many ranks must say where the rank is
$ halley trace link --ranks host.json device.json -o a
! halley: the name of many traces must contain %d once, for the rank, as in "host.%d.json"; "host.json" does not
? 1
$ halley trace link host.json device.json
! halley: where to? name the output with -o
! see 'halley trace link --help'
? 2

## an execution trace alone has no times: it is not replayed in 0 s
$ halley trace link $DATA/recording/host.0.json -o h.et > report 2>&1
$ halley sim --replay h.et
! halley: the execution trace has no times to replay; link it together with the Kineto trace of the same run, or name a cluster (-c) on which its operators on devices can be timed
? 1

## device work of other steps than the execution trace has is left out, and said
$ python3 -c 'import json, os; d = json.load(open(os.environ["DATA"] + "/recording/device.0.json")); d["traceEvents"] += [dict(ph="X", cat="cpu_op", name="aten::other", pid=1, tid=1, ts=90000, dur=50, args={"External id": 990}), dict(ph="X", cat="cuda_runtime", name="cudaLaunchKernel", pid=1, tid=1, ts=90010, dur=5, args={"correlation": 990}), dict(ph="X", cat="kernel", name="k", pid=0, tid=7, ts=90030, dur=40, args={"correlation": 990, "stream": 7, "device": 0})]; json.dump(d, open("device.json", "w"))'
$ halley trace link -q $DATA/recording/host.0.json device.json -o a.et
! halley: rank 0: 1 of 6 kernels, copies and sets (17 %) are left out: no operator of the execution trace launched them. Were both recorded over the same steps?

## an execution trace of one step is found in a longer recording
$ python3 -c 'import json; A = lambda t: [dict(name="rf_id", type="uint64", value=0), dict(name="tid", type="uint64", value=t)]; io = dict(values=[], shapes=[], types=[]); N = lambda i, name, up, t: dict(id=i, name=name, ctrl_deps=up, inputs=io, outputs=io, attrs=A(t)); step = ["aten::a", "aten::b"] + ["aten::s%d" % k for k in range(8)]; json.dump(dict(schema="1.1.0-chakra.0.0.4", pid=1, nodes=[N(1, "[pytorch|profiler|execution_trace|process]", 1, 0), N(2, "[pytorch|profiler|execution_trace|thread]", 1, 1)] + [N(3 + k, n, 2, 1) for k, n in enumerate(step)]), open("host.json", "w")); ops = ["aten::a"] + ["aten::w"] * 30 + step * 3; json.dump(dict(schemaVersion=1, traceEvents=[dict(ph="X", cat="cpu_op", name=n, pid=1, tid=1, ts=100 + 10 * k, dur=8, args={}) for k, n in enumerate(ops)]), open("device.json", "w"))'
$ halley trace link --json host.json device.json -o a.et | query - /ranks/0/n_by_order /ranks/0/recorded_s
> 10
> 9.8e-05

## the portable form takes the recorded time under ASTRA-sim's rules, the own form says that it does not
$ sed 's/{/{"replay-only": 1,/' $DATA/sim/system.json > system.json; sed 's/4/2/' $DATA/sim/ring4.yml > ring2.yml
$ halley trace link -q $DATA/recordings/window_edge.json -o r.et 2> notes; halley sim r.et --replay --json | query - /time_s
> 0.0006
$ halley trace link -q --for astra-sim $DATA/recordings/window_edge.json -o w.0.et 2> notes; cp w.0.et w.1.et; halley sim w --replay --json | query - /time_s
> 0.0006
$ halley sim --workload-configuration=w --system-configuration=system.json --network-configuration=ring2.yml --json | query - /time_s | awk '{ print ($1 > 0.9999 * 0.0006 && $1 < 1.0001 * 0.0006) }'
> 1
$ halley trace convert --for astra-sim r.et v.et && cmp v.et w.0.et
$ cp r.et o.0.et; cp r.et o.1.et; halley sim --workload-configuration=o --system-configuration=system.json --network-configuration=ring2.yml --json | query - /time_s
> 0.000745
! halley: warning: this takes 1.242 times as long as the recording, whose threads, streams and lags ASTRA-sim does not have; write it with 'halley trace convert --for astra-sim'

## an execution trace of the host alone is not timed by the model of a device
$ sed 's/cuda:0/cpu/g' $DATA/recording/host.0.json > cpu.json; halley trace link -q cpu.json -o h.0.et; cp h.0.et h.1.et
$ halley sim h -c dgx-h100:2 --compute cost
! halley: the execution trace has no times, and none of its operators ran on a device, so no model of an NPU can time its compute; link it together with the Kineto trace of the same run
? 1

## the kernels of the portable form are counted once, whatever their pieces
$ halley trace link -q $DATA/recordings/model.json.gz -o own.et 2> note; halley trace convert --for astra-sim own.et folded.et 2> note
$ for t in own folded; do for k in device_events launch_in_window classes/matmul/n; do halley trace info --kernels $t.et --json 2> note | query - /$k; done | paste -sd ' '; done | uniq | wc -l
> 1
