# halley topology compare: networks side by side.

## sizes, bisection, cost and closed-form collectives
$ printf '{topology: switch, n: 16, link: 400 Gb/s, latency: 500 ns, cost: {switch: 25000 USD, copper: 100 USD}}' > switch.yaml
$ printf '{topology: torus, dims: [4, 4], link: 100 Gb/s, latency: 500 ns}' > torus.yaml
$ halley topology compare switch.yaml torus.yaml
> property                switch.yaml  torus.yaml
> topology                switch       torus
> NPUs                    16           16
> NICs                    0            0
> switches                1            0
> cables                  16           32
> diameter, links         2            4
> mean distance, links    2            2.133333
> injection of an NPU     50.0 GB/s    50.0 GB/s
> bisection               400 GB/s     100 GB/s
> worst oversubscription  unknown      unknown
> cost                    26600 USD    unknown
> cost per NPU            1662 USD     unknown
> power                   unknown      unknown
> power per NPU           unknown      unknown
> all-reduce of 1 GB      37.5 ms      37.5 ms
> all-to-all of 1 GB      18.8 ms      40.0 ms
$ halley topology compare switch.yaml torus.yaml --csv | head -4
> property,switch.yaml,torus.yaml
> topology,switch,torus
> npus,16,16
> nics,0,0
$ halley topology compare switch.yaml torus.yaml --json | head -12
> {
>   "networks": [
>     {
>       "file": "switch.yaml",
>       "topology": "switch",
>       "npus": 16,
>       "nics": 0,
>       "switches": 1,
>       "links": 16,
>       "diameter_hops": 2,
>       "mean_hops": 2,
>       "injection_Bps": 50000000000,

## one network is not a comparison
$ halley topology compare switch.yaml
! halley: topology compare needs at least 2 arguments (FILE|CLUSTER FILE|CLUSTER...), was given 1
! see 'halley topology compare --help'
? 2
