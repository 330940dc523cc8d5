# halley results: a store, looked at again.

## the best of a store, and what SQL can ask
$ printf 'name: s\nmodel: gpt-7.5b\ncluster: dgx-a100:64\nplan: {global-batch: 512}\nvary: {plan.tp: [1, 2, 8], plan.pp: [1, 2]}\n' > s.yaml
$ halley explore s.yaml --store s.db > /dev/null; halley results s.db --top 1
> s: 6 designs evaluated, {*} feasible; best by least step-time
>
> id  plan.tp  plan.pp  objective_1  step_s  tokens_per_s  mfu  {*} device_bytes  schedule_time
> {*}
$ halley results s.db --sql 'SELECT count(*) AS n FROM design WHERE "plan.tp" = 8' --csv
> n
> 2
$ halley results s.db --csv --sql "SELECT -2 AS n, -2.5 AS x, '-2' AS t, char(27) AS \"=a$(printf '\033')[31m\""
> n,x,t,'=a\x1B[31m
> -2,-2.5,'-2,\x1B
$ halley results s.db --sql 'DELETE FROM design'
! halley: s.db: the query may only read: SELECT, EXPLAIN or PRAGMA table_info
? 1
$ halley results s.db --sql 'SELECT none FROM design'
! halley: s.db: the query cannot be answered: no such column: none
? 1

## what is no store
$ halley results missing.db
! halley: missing.db: there is no such store
? 1
$ echo hello > text.db; halley results text.db
! halley: text.db: this is not a store of halley explore
? 1
