import { diag, type Attributes, type Histogram, type Meter } from '@opentelemetry/api'
import { tableKind, type EndedCall, type SentStatement } from '@looseleaf/core'
import { summarise } from '@looseleaf/core/internal'

/** Records the durations of calls and statements. */
export interface Times {
  call(call: EndedCall): void
  statement(statement: SentStatement): void
}

/** Boundaries in seconds: those of the semantic conventions for databases, and finer ones below. */
const explicitBucketBoundaries = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 10]

export function createTimes(meter: Meter, system: string): Times {
  const histogram = (name: string, description: string): Histogram =>
    meter.createHistogram(name, { description, unit: 's', advice: { explicitBucketBoundaries } })
  const recordCall = batchedRecord(histogram('looseleaf.call.duration', 'Duration of calls of the store.'))
  const statements = histogram('db.client.operation.duration', 'Duration of database client operations.')

  return {
    call({ name, index, durationMs, failure }) {
      const attributes: Attributes = { 'looseleaf.call': name }
      if (index !== undefined) attributes['looseleaf.index'] = index
      if (failure !== undefined) attributes['error.type'] = failure
      recordCall(durationMs / 1_000, attributes)
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

/**
 * Returns a function that records values in a batch: those of one turn of the event loop, before the callers of those calls continue.
 * Recording them one by one between other work takes twice the CPU.
 */
function batchedRecord(histogram: Histogram): (value: number, attributes: Attributes) => void {
  let values: number[] = []
  let attributesOf: Attributes[] = []

  function recordAll(): void {
    const [batch, batchAttributes] = [values, attributesOf]
    values = []
    attributesOf = []
    try {
      for (let i = 0; i < batch.length; i++) histogram.record(batch[i]!, batchAttributes[i])
    } catch (error) {
      diag.error('looseleaf.call.duration was not recorded', error)
    }
  }

  return (value, attributes) => {
    attributesOf.push(attributes)
    if (values.push(value) === 1) void Promise.resolve().then(recordAll)
  }
}
