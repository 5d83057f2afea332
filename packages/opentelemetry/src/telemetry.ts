import { metrics, trace, type MeterProvider, type Span, type TracerProvider } from '@opentelemetry/api'
import {
  checkOptions,
  describeKind,
  hasMethods,
  LooseleafError,
  optionKinds,
  type Observer,
  type OptionKinds,
} from '@looseleaf/core'
import type { DataStore } from '@looseleaf/store'
import { createEventCounters } from './event-counters.ts'
import { createSpans } from './spans.ts'
import { observeStats } from './stats-metrics.ts'
import { createTimes } from './times.ts'

export interface TelemetryOptions {
  /** The `db.system.name` of the databases by the semantic conventions, such as `mysql`, `mariadb` or `sqlite`. */
  readonly system: string
  /** Default: that which is registered globally. */
  readonly tracerProvider?: TracerProvider | undefined
  /** Default: that which is registered globally. */
  readonly meterProvider?: MeterProvider | undefined
}

/** For the `observer` of `DataStore.open`: spans of calls and statements, and how long they take. */
export interface Telemetry extends Observer<Span> {
  /** Has the numbers of a store, see `DataStore.stats`, collected as metrics too, until it is called back. */
  watch(store: Pick<DataStore, 'stats'>): () => void
}

const KINDS: OptionKinds<TelemetryOptions> = {
  system: optionKinds.elsewhere,
  tracerProvider: {
    expected: 'a TracerProvider of OpenTelemetry',
    fits: (value) => hasMethods(value, ['getTracer']),
  },
  meterProvider: {
    expected: 'a MeterProvider of OpenTelemetry',
    fits: (value) => hasMethods(value, ['getMeter']),
  },
}

/** The name of the instrumentation scope. */
const SCOPE = '@looseleaf/opentelemetry'

/**
 * Spans and metrics of stores by the semantic conventions for databases. Statements are described by their operation and table,
 * and without their text, so that no value and no secret leaves the process. Throws `BAD_OPTION`.
 */
export function openTelemetry(options: TelemetryOptions): Telemetry {
  checkOptions('openTelemetry', options, KINDS)
  const { system } = options
  if (typeof system !== 'string' || system === '') {
    throw new LooseleafError(
      'BAD_OPTION',
      `openTelemetry takes { system }, the db.system.name of the databases, such as 'mariadb'; got ${describeKind(system)}.`,
    )
  }
  const tracer = (options.tracerProvider ?? trace).getTracer(SCOPE)
  const meter = (options.meterProvider ?? metrics).getMeter(SCOPE)
  const spans = createSpans(tracer, system)
  const times = createTimes(meter, system)
  const counters = createEventCounters(meter)

  return {
    callBegan: (call) => spans.begin(call),
    callEnded(call, span) {
      times.call(call)
      spans.end(call, span)
    },
    statementSent(statement, own, calls) {
      times.statement(statement)
      spans.statement(statement, own, calls)
    },
    happened(event, calls) {
      counters.count(event)
      spans.event(event, calls)
    },
    watch: (store) => observeStats(meter, store),
  }
}
