import type { Attributes, Meter } from '@opentelemetry/api'
import type { StoreEvent } from '@looseleaf/core'
import type { MoverEvent } from '@looseleaf/core/internal'

type MoveEvent = MoverEvent | Extract<StoreEvent, { readonly kind: 'seal_wait' }>

/** Boundaries of pauses in seconds. A write takes a seal away after one second. */
const boundaries = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1]

/** Returns a function that counts the work of this process on moves of buckets, and the waits of its writes for them. */
export function createMoveCounter(meter: Meter): (event: MoveEvent) => void {
  const walks = meter.createCounter('looseleaf.move.walks', {
    description: 'Times that this process worked on a move of buckets, by outcome.',
    unit: '{walk}',
  })
  const copied = meter.createCounter('looseleaf.move.copied', {
    description: 'Entities, index rows and claims that this process copied to another shard.',
    unit: '{item}',
  })
  const buckets = meter.createCounter('looseleaf.move.buckets', {
    description: 'Buckets that this process handed over.',
    unit: '{bucket}',
  })
  const sealed = meter.createHistogram('looseleaf.move.sealed', {
    description: 'Time for which writes of a group of buckets had to wait, by the mover.',
    unit: 's',
    advice: { explicitBucketBoundaries: boundaries },
  })
  const waits = meter.createHistogram('looseleaf.write.seal_wait', {
    description: 'Time for which a write waited for a sealed bucket.',
    unit: 's',
    advice: { explicitBucketBoundaries: boundaries },
  })

  return (event) => {
    if (event.kind === 'seal_wait')
      return waits.record(event.waitMs / 1_000, { 'looseleaf.shard': event.shard })
    const shards: Attributes = { 'looseleaf.source': event.from, 'looseleaf.target': event.to }
    switch (event.kind) {
      case 'move':
        return walks.add(1, { ...shards, 'looseleaf.outcome': event.outcome })
      case 'copied':
        for (const [item, count] of Object.entries({
          entity: event.entities,
          row: event.rows,
          claim: event.claims,
        }))
          if (count > 0) copied.add(count, { ...shards, 'looseleaf.item': item })
        return
      case 'handed_over':
        buckets.add(event.buckets, shards)
        return sealed.record(event.sealedMs / 1_000, shards)
    }
  }
}
