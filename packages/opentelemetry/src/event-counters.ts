import type { Attributes, Counter, Meter } from '@opentelemetry/api'
import type { StoreEvent } from '@looseleaf/core'
import { createCleanerCounter } from './cleaner-metrics.ts'
import { createConsumerCounter } from './consumer-metrics.ts'
import { createMoveCounter } from './move-metrics.ts'

/** Returns a function that counts the events of a store, of its cleaner and of its consumers. */
export function createEventCounter(meter: Meter): (event: StoreEvent) => void {
  const counter = (name: string, unit: string, description: string): Counter =>
    meter.createCounter(name, { description, unit })
  const attempts = counter(
    'looseleaf.write.failed_attempts',
    '{attempt}',
    'Attempts of writes that did not commit, or whose commit was not answered.',
  )
  const discarded = counter(
    'looseleaf.query.discarded_rows',
    '{row}',
    'Index rows that queries read and that gave no entity of the page.',
  )
  const skipped = counter(
    'looseleaf.read.skipped_shards',
    '{shard}',
    'Shards that reads left out because they did not answer.',
  )
  const deferred = counter(
    'looseleaf.write.deferred_tables',
    '{table}',
    'Index tables whose rows a write deferred to the cleaner.',
  )
  const halved = counter(
    'looseleaf.lane.halved_statements',
    '{statement}',
    'Statements that were rejected and sent again in halves.',
  )
  const changes = counter(
    'looseleaf.shard.breaker_changes',
    '{change}',
    'Openings and closings of the breaker of a shard.',
  )
  const countCleaner = createCleanerCounter(meter)
  const countConsumers = createConsumerCounter(meter)
  const countMoves = createMoveCounter(meter)

  const onShard = (shard: string, more?: Attributes): Attributes => ({ ...more, 'looseleaf.shard': shard })

  return (event) => {
    switch (event.kind) {
      case 'attempt':
        return attempts.add(1, onShard(event.shard, { 'looseleaf.outcome': event.outcome }))
      case 'discarded':
        return discarded.add(event.rows, { 'looseleaf.index': event.index })
      case 'skipped':
        return skipped.add(1, onShard(event.shard, { 'error.type': event.code }))
      case 'deferred':
        return deferred.add(event.tables.length, onShard(event.shard))
      case 'halved':
        return halved.add(1, onShard(event.shard, { 'error.type': event.code }))
      case 'breaker':
        return changes.add(1, onShard(event.shard, { 'looseleaf.outcome': event.outcome }))
      case 'consumed':
        return countConsumers(event)
      case 'seal_wait':
      case 'move':
      case 'copied':
      case 'handed_over':
        return countMoves(event)
      default:
        return countCleaner(event)
    }
  }
}
