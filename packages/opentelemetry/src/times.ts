import type { Attributes, Histogram, Meter } from '@opentelemetry/api'
import { summarise, tableKind, type EndedCall, type SentStatement } from '@looseleaf/core'

/** How long calls and statements take. */
export interface Times {
  call(call: EndedCall): void
  statement(statement: SentStatement): void
}

/** Seconds; those that the semantic conventions name for databases, with finer ones below. */
const explicitBucketBoundaries = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 10]

export function createTimes(meter: Meter, system: string): Times {
  const histogram = (name: string, description: string): Histogram =>
    meter.createHistogram(name, { description, unit: 's', advice: { explicitBucketBoundaries } })
  const calls = histogram('looseleaf.call.duration', 'Duration of calls of the store.')
  const statements = histogram('db.client.operation.duration', 'Duration of database client operations.')

  return {
    call({ name, index, durationMs, failure }) {
      const attributes: Attributes = { 'looseleaf.call': name }
      if (index !== undefined) attributes['looseleaf.index'] = index
      if (failure !== undefined) attributes['error.type'] = failure
      calls.record(durationMs / 1_000, attributes)
    },
    statement({ text, shard, durationMs, failure }) {
      const { operation, table } = summarise(text)
      const attributes: Attributes = {
        'db.system.name': system,
        'db.operation.name': operation,
        'looseleaf.shard': shard,
        'looseleaf.table': tableKind(table),
      }
      if (failure !== undefined) attributes['error.type'] = failure
      statements.record(durationMs / 1_000, attributes)
    },
  }
}
