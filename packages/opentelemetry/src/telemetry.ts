import { metrics, trace, type MeterProvider, type Span, type TracerProvider } from '@opentelemetry/api'
import type { Observer } from '@looseleaf/core'
import {
  badArgument,
  checkOptions,
  hasMethods,
  optionKinds,
  type OptionKinds,
} from '@looseleaf/core/internal'
import type { DataStore } from '@looseleaf/store'
import { createEventCounter } from './event-counters.ts'
import { createSpans } from './spans.ts'
import { observeStats } from './stats-metrics.ts'
import { createTimes } from './times.ts'

export interface TelemetryOptions {
  /** `db.system.name` of the databases by the semantic conventions: `mysql`, `mariadb` or `sqlite`. */
  readonly system: string
  /** Default: the global one. */
  readonly tracerProvider?: TracerProvider | undefined
  /** Default: the global one. */
  readonly meterProvider?: MeterProvider | undefined
}

/** The `observer` of `DataStore.open`: creates spans of calls and statements, and records their durations. */
export interface Telemetry extends Observer<Span> {
  /** Reports the numbers of `DataStore.stats` as metrics too. Returns a function that ends this. */
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

/** Name of the instrumentation scope. */
const SCOPE = '@looseleaf/opentelemetry'

/**
 * Creates spans and metrics of stores by the semantic conventions for databases. A statement's span has its operation and table, and
 * not its text, so that no value and no secret leaves the process. Throws `BAD_OPTION`.
 */
export function openTelemetry(options: TelemetryOptions): Telemetry {
  checkOptions('openTelemetry', options, KINDS)
  const { system } = options
  if (typeof system !== 'string' || system === '')
    throw badArgument(
      'openTelemetry',
      "{ system }, the db.system.name of the databases, such as 'mariadb'",
      system,
    )
  const tracer = (options.tracerProvider ?? trace).getTracer(SCOPE)
  const meter = (options.meterProvider ?? metrics).getMeter(SCOPE)
  const spans = createSpans(tracer, system)
  const times = createTimes(meter, system)
  const count = createEventCounter(meter)

  return {
    callBegan: (call) => spans.begin(call),
    callEnded(call, span) {
      times.call(call)
      spans.end(call, span)
    },
    statementSent(statement, callSpans, calls) {
      times.statement(statement)
      spans.statement(statement, callSpans, calls)
    },
    happened(event, calls) {
      count(event)
      spans.event(event, calls)
    },
    watch: (store) => observeStats(meter, store),
  }
}
