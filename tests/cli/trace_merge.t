# halley trace merge: side by side, or one after the other.

## files become ranks
$ halley trace gen ring -n 2 -o r > made
$ cp r.0.et one.et; cp r.1.et two.et
$ halley trace merge -o m one.et two.et; halley trace diff r m
> 2 ranks, 2 different, from 2 traces
> no differences in 4 nodes

## ranks can be numbered anew
$ halley trace gen one_comm_send_node -n 4 -o r > made
$ halley trace merge --renumber -o m r.3.et r.2.et
> 2 ranks, 2 different, from 2 traces
$ halley trace check m
> m: 2 ranks, 0 errors, 0 warnings, 2 notes (--notes lists them)
$ halley trace merge --renumber -o bad r.3.et r.1.et
! halley: r.3.et: node 0: comm_src is 2, a rank that is not among the given ones
? 1
$ halley trace merge --renumber -o bad r.3.et made
! halley: made: byte 1: unknown metadata field 14 is malformed or cut
? 1
$ ls bad*
! ls: cannot access 'bad*': No such file or directory
? 2

## steps follow each other
$ halley trace gen ring -n 3 -o r > made
$ halley trace merge --chain -o two r r
> 3 ranks, 3 different, from 2 traces
$ halley trace check two
> two: 3 ranks, 0 errors, 0 warnings, 3 notes (--notes lists them)
$ for s in r two; do halley trace info --csv $s; done
> ranks,nodes,comp_nodes,coll_nodes,send_nodes,recv_nodes,depth,width,critical_s
> 0,2,0,0,1,1,1,2,0
> 1,2,0,0,1,1,1,2,0
> 2,2,0,0,1,1,1,2,0
> ranks,nodes,comp_nodes,coll_nodes,send_nodes,recv_nodes,depth,width,critical_s
> 0,5,1,0,2,2,3,2,0
> 1,5,1,0,2,2,3,2,0
> 2,5,1,0,2,2,3,2,0

## chains want equally many ranks
$ halley trace gen ring -n 2 -o a > made; halley trace gen ring -n 3 -o b > made
$ halley trace merge --chain -o c a b
! halley: b has 3 ranks, a has 2; --chain needs equal numbers
? 1
$ halley trace merge a b
! halley: name the output with --out: a prefix, folder or file
! see 'halley trace merge --help'
? 2
$ halley trace merge -o c a
! halley: trace merge needs at least 2 arguments (TRACE TRACE...), was given 1
! see 'halley trace merge --help'
? 2
