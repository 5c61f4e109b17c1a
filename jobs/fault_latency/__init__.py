"""The first flow: send attempts → updates of fault items → isolation, per producer and broker.

`job` is its contents page: `attempts` (who sends under which rules, in which process) → `updates` (what each send
wrote) → `pruning`, `replay`, `inferences` (the fault items over time) → `isolations`, `state` → `choices`, `health` →
`windows`, `calls`, `incidents`, `producer_days`, `findings/`. `key_moves` stands beside it: order keys that left their
queue.
"""
