import type { Attributes, Counter, Meter } from '@opentelemetry/api'
import type { CleanerCounts, CleanerEvent } from '@looseleaf/core/internal'

/** Boundaries of lags in seconds, up to a day. */
export const lagBoundaries: number[] = [0, 1, 5, 30, 60, 300, 1_800, 7_200, 86_400]

/** Returns a function that counts the work and the findings of this process's cleaner. */
export function createCleanerCounter(meter: Meter): (event: CleanerEvent) => void {
  const counter = (name: string, unit: string, description: string): Counter =>
    meter.createCounter(name, { description, unit })
  const cleanings = counter(
    'looseleaf.cleaner.cleanings',
    '{cleaning}',
    'Fillings and sweeps of indexes, by outcome.',
  )
  const read = counter(
    'looseleaf.cleaner.read',
    '{item}',
    'Entities and index rows that the cleaner looked at.',
  )
  const repaired = counter(
    'looseleaf.cleaner.rows',
    '{row}',
    'Index rows that the cleaner added and removed.',
  )
  const undecodable = counter(
    'looseleaf.cleaner.undecodable',
    '{entity}',
    'Entities that the cleaner looked at and could not decode.',
  )
  const failures = counter(
    'looseleaf.cleaner.failures',
    '{failure}',
    'Failed work of the cleaner, which is retried.',
  )
  // A histogram of rounds, and not a gauge: the last value of a gauge would stay when another process takes over.
  const lag = meter.createHistogram('looseleaf.cleaner.lag', {
    description: 'Age of the oldest update that the cleaner has not looked at after a round.',
    unit: 's',
    advice: { explicitBucketBoundaries: lagBoundaries },
  })

  function addCounts(counts: CleanerCounts, attributes: Attributes): void {
    const add = (target: Counter, count: number, more: Attributes): void => {
      if (count > 0) target.add(count, { ...attributes, ...more })
    }
    add(read, counts.entities, { 'looseleaf.item': 'entity' })
    add(read, counts.rows, { 'looseleaf.item': 'row' })
    add(repaired, counts.added, { 'looseleaf.change': 'added' })
    add(repaired, counts.removed, { 'looseleaf.change': 'removed' })
    add(undecodable, counts.undecodable, {})
  }

  return (event) => {
    switch (event.kind) {
      case 'cleaning': {
        const { work, outcome, index } = event
        return cleanings.add(1, {
          'looseleaf.work': work,
          'looseleaf.outcome': outcome,
          'looseleaf.index': index,
        })
      }
      case 'cleaned':
        return addCounts(event, {
          'looseleaf.work': event.work,
          'looseleaf.index': event.index,
          'looseleaf.shard': event.shard,
        })
      case 'round':
        lag.record(event.lagMs / 1_000, { 'looseleaf.shard': event.shard })
        return addCounts(event, { 'looseleaf.work': 'follow', 'looseleaf.shard': event.shard })
      case 'cleaner_failed':
        return failures.add(1, { 'error.type': event.code })
    }
  }
}
