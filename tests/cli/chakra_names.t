# halley by the names of Chakra's programs.

## options are read as by Python's argparse
$ for n in trace_link converter jsonizer visualizer timeline_visualizer generator; do ln -s "$(command -v halley)" chakra_$n; ./chakra_$n --help | head -1; done
> usage: chakra_trace_link [-h] --rank N --chakra-host-trace TEXT --chakra-device-trace TEXT --output-file TEXT [--log-level TEXT]
> usage: chakra_converter [-h] [--log-filename TEXT] {PyTorch,Text} ...
> usage: chakra_jsonizer [-h] --input_filename TEXT --output_filename TEXT
> usage: chakra_visualizer [-h] --input_filename TEXT --output_filename TEXT
> usage: chakra_timeline_visualizer [-h] --input_filename TEXT --output_filename TEXT --num_npus N --npu_frequency N [--log_filename TEXT]
> usage: chakra_generator [-h] [--num_npus N] [--default_runtime N] [--default_tensor_size N] [--default_comm_size N]
$ ./chakra_converter
> usage: chakra_converter [-h] [--log-filename TEXT] {PyTorch,Text} ...
$ ./chakra_converter PyTorch --in a
! usage: chakra_converter PyTorch [-h] [--log-filename TEXT] --input TEXT --output TEXT [--simulate]
! chakra_converter: error: this argument is required: --output
? 2
$ ./chakra_generator --default 3
! usage: chakra_generator [-h] [--num_npus N] [--default_runtime N] [--default_tensor_size N] [--default_comm_size N]
! chakra_generator: error: unrecognized arguments: --default
? 2
$ ./chakra_generator --num_npus=two
! usage: chakra_generator [-h] [--num_npus N] [--default_runtime N] [--default_tensor_size N] [--default_comm_size N]
! chakra_generator: error: expected an integer for --num_npus
? 2
$ ./chakra_jsonizer --input_filename none.et --output_filename x.json
! halley: none.et: no such trace: there is no file, no folder and no none.et.0.et of that name
? 1

## the generator writes the bytes of Chakra's
$ ln -s "$(command -v halley)" chakra_generator; ./chakra_generator --num_npus 2; for f in *.et; do cmp $f $DATA/chakra-generator/$f; done; ls *.et | wc -l
> 28

## a recording goes through trace_link, the converter and the jsonizer
$ for n in trace_link converter jsonizer visualizer; do ln -s "$(command -v halley)" chakra_$n; done
$ ./chakra_trace_link --rank 0 --chakra-host-trace $DATA/recording/host.0.json --chakra-device-trace $DATA/recording/device.0.json --output-file linked.json
! halley: note: linked.json is a Chakra trace as JSON, which halley's chakra_converter reads; Chakra's own converter does not
$ ./chakra_converter --log-filename my.log PyTorch --input linked.json --output step.et && ls my.log step.et
> my.log
> step.et
$ halley trace link -q $DATA/recording/host.0.json $DATA/recording/device.0.json -o direct.et; cmp step.et direct.et && echo same
> same
$ ./chakra_jsonizer --input_filename step.et --output_filename step.json; halley trace convert --to chakra-json step.et other.json; cmp step.json other.json && echo same
> same
$ ./chakra_visualizer --input_filename step.et --output_filename step.png
> Unknown output file extension. Must be one of pdf, dot, graphml.
$ ./chakra_visualizer --input_filename step.et --output_filename step.pdf
! halley: PDF is not written here: write a .dot file and convert it with graphviz (dot -Tpdf)
? 1

## the timeline of a log is that of Chakra's visualizer
$ ln -s "$(command -v halley)" chakra_timeline_visualizer
$ printf 'issue,npu=0,cycle=0,id=1,name=COMP_NODE_a\nnoise\nissue,npu=0,cycle=3,id=7,name=whatever\ncallback,npu=0,cycle=1501,id=1,name=COMP_NODE_a\nissue,npu=1,cycle=1600,id=1,name=MEM_LOAD_NODE_LOCAL_MEMORY_b\ncallback,npu=1,cycle=1777,id=1,name=MEM_LOAD_NODE_LOCAL_MEMORY_b\n' > log.csv
$ ./chakra_timeline_visualizer --input_filename log.csv --output_filename t.json --num_npus 2 --npu_frequency 1500 && cat t.json && ls debug.log
> {"meta_user": "aras", "traceEvents": [{"pid": 0, "tid": 3, "ts": 0.0, "dur": 0.0010006666666666666, "ph": "X", "name": "COMP_NODE_a", "args": {"ms": 0.0010006666666666666}}, {"pid": 1, "tid": 1, "ts": 0.0010666666666666667, "dur": 0.000118, "ph": "X", "name": "MEM_LOAD_NODE_LOCAL_MEMORY_b", "args": {"ms": 0.000118}}], "meta_cpu_count": 2}debug.log
$ printf 'callback,npu=0,cycle=9,id=1,name=COMP_NODE_a\n' > bad.csv; ./chakra_timeline_visualizer --input_filename bad.csv --output_filename u.json --num_npus 2 --npu_frequency 1500
! halley: bad.csv: node 1 of NPU 0 has a callback without an earlier issue
? 1
