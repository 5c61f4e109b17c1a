"""The first flow: send attempts → updates of fault items → isolation, per producer and broker.

`job` is its contents page: `producers/` (who sends under which rules, in which process) → `fault_items/` (updates,
their replay, isolations) → `effects/` → `findings/`. `effects/key_moves` is beside them: order keys that left their
queue.
"""
