import type { Meter } from '@opentelemetry/api'
import type { StoreEvent } from '@looseleaf/core'

/** Counts what happens beneath calls. */
export interface EventCounters {
  count(event: StoreEvent): void
}

export function createEventCounters(meter: Meter): EventCounters {
  const attempts = meter.createCounter('looseleaf.write.lost_attempts', {
    description: 'Attempts of writes that did not win.',
    unit: '{attempt}',
  })
  const discarded = meter.createCounter('looseleaf.query.discarded_rows', {
    description: 'Index rows that queries met and that led to nothing on the page.',
    unit: '{row}',
  })
  const deferred = meter.createCounter('looseleaf.write.deferred_tables', {
    description: 'Index tables whose rows writes left to the cleaner.',
    unit: '{table}',
  })
  return {
    count(event) {
      switch (event.kind) {
        case 'attempt':
          return attempts.add(1, { 'looseleaf.outcome': event.outcome, 'looseleaf.shard': event.shard })
        case 'discarded':
          return discarded.add(event.rows, { 'looseleaf.index': event.index })
        case 'deferred':
          return deferred.add(event.tables.length, { 'looseleaf.shard': event.shard })
      }
    },
  }
}
