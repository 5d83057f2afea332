import type { Meter } from '@opentelemetry/api'
import type { ConsumerEvent } from '@looseleaf/core/internal'
import { lagBoundaries } from './cleaner-metrics.ts'

/** Returns a function that counts the work of this process's consumers of changes. */
export function createConsumerCounter(meter: Meter): (event: ConsumerEvent) => void {
  const changes = meter.createCounter('looseleaf.consumer.changes', {
    description:
      'Changes that consumers handled, attempts that failed, and changes that became dead letters.',
    unit: '{change}',
  })
  const lag = meter.createHistogram('looseleaf.consumer.lag', {
    description: 'Age of the oldest change that a consumer has not handled after a round.',
    unit: 's',
    advice: { explicitBucketBoundaries: lagBoundaries },
  })

  return ({ consumer, shard, handled, failed, deadLettered, lagMs }) => {
    const attributes = { 'looseleaf.consumer': consumer, 'looseleaf.shard': shard }
    // The lag is undefined at the start, and not finite while times of writing are ahead of the clock.
    if (lagMs !== undefined && Number.isFinite(lagMs)) lag.record(lagMs / 1_000, attributes)
    for (const [outcome, count] of Object.entries({ handled, failed, dead_lettered: deadLettered }))
      if (count > 0) changes.add(count, { ...attributes, 'looseleaf.outcome': outcome })
  }
}
