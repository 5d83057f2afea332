import type { Attributes, Counter, Meter } from '@opentelemetry/api'
import type { StoreEvent } from '@looseleaf/core'
import { createCleanerMetrics } from './cleaner-metrics.ts'
import { createConsumerMetrics } from './consumer-metrics.ts'

/** Counts what happens beneath calls and beside them. */
export interface EventCounters {
  count(event: StoreEvent): void
}

export function createEventCounters(meter: Meter): EventCounters {
  const counter = (name: string, unit: string, description: string): Counter =>
    meter.createCounter(name, { description, unit })
  const attempts = counter(
    'looseleaf.write.lost_attempts',
    '{attempt}',
    'Attempts of writes that did not win.',
  )
  const discarded = counter(
    'looseleaf.query.discarded_rows',
    '{row}',
    'Index rows that queries met and that led to nothing on the page.',
  )
  const deferred = counter(
    'looseleaf.write.deferred_tables',
    '{table}',
    'Index tables whose rows writes left to the cleaner.',
  )
  const halved = counter(
    'looseleaf.lane.halved_statements',
    '{statement}',
    'Statements that were refused and sent again in halves.',
  )
  const changes = counter(
    'looseleaf.shard.breaker_changes',
    '{change}',
    'How often calls to a shard began to be refused, and to pass again.',
  )
  const cleaner = createCleanerMetrics(meter)
  const consumers = createConsumerMetrics(meter)

  const onShard = (shard: string, more?: Attributes): Attributes => ({ ...more, 'looseleaf.shard': shard })

  return {
    count(event) {
      switch (event.kind) {
        case 'attempt':
          return attempts.add(1, onShard(event.shard, { 'looseleaf.outcome': event.outcome }))
        case 'discarded':
          return discarded.add(event.rows, { 'looseleaf.index': event.index })
        case 'deferred':
          return deferred.add(event.tables.length, onShard(event.shard))
        case 'halved':
          return halved.add(1, onShard(event.shard, { 'error.type': event.code }))
        case 'breaker':
          return changes.add(1, onShard(event.shard, { 'looseleaf.outcome': event.outcome }))
        case 'consumed':
          return consumers.count(event)
        default:
          return cleaner.count(event)
      }
    },
  }
}
