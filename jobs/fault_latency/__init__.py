"""The first flow: send attempts → updates of fault items → isolation, per producer and broker.

`job` is its contents page: `producers` (who sends under which rules) → `updates` (what each send wrote) →
`replay` (the fault items over time) → `intervals`, `changes`, `state` → `windows`, `incidents`, `producer_days`.
`key_moves` stands beside it: order keys that left their queue.
"""
