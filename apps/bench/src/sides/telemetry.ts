import { openTelemetry } from '@looseleaf/opentelemetry'
import { context, trace, type Tracer } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  AggregationTemporality,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import type { DataStoreOptions } from 'looseleaf'
import type { Side } from './side.ts'

/** Where spans and numbers go is not the store's: here they end. */
const nowhere = {
  export: (_: unknown, done: (result: { code: number }) => void): void => done({ code: 0 }),
  forceFlush: async (): Promise<void> => {},
  shutdown: async (): Promise<void> => {},
}

const PER_REQUEST = 20

export interface Telemetry extends Required<Pick<DataStoreOptions, 'observer'>> {
  /** The same side, whose calls are made within the spans of requests, as a site makes them. */
  inRequests(side: Side): Side
}

/** An SDK as its guide sets it up: metrics, and spans in batches. */
export function telemetry(shareOfTraces: number): Telemetry {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  const tracerProvider = new TracerProvider({
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(shareOfTraces) }),
    spanProcessors: [new BatchSpanProcessor({ exporter: nowhere })],
  })
  const exporter = { ...nowhere, selectAggregationTemporality: () => AggregationTemporality.CUMULATIVE }
  const meterProvider = new MeterProvider({ readers: [new PeriodicExportingMetricReader({ exporter })] })
  return {
    observer: openTelemetry({ system: 'mariadb', tracerProvider, meterProvider }),
    inRequests: (side) => inRequests(side, tracerProvider.getTracer('bench')),
  }
}

function inRequests(side: Side, tracer: Tracer): Side {
  let span = tracer.startSpan('request')
  let around = trace.setSpan(context.active(), span)
  let calls = 0

  function next(): typeof around {
    if (++calls % PER_REQUEST === 0) {
      span.end()
      span = tracer.startSpan('request')
      around = trace.setSpan(context.active(), span)
    }
    return around
  }

  const within = (call: unknown) =>
    typeof call === 'function'
      ? (...args: unknown[]): unknown => context.with(next(), call as () => unknown, side, ...(args as []))
      : call
  return Object.fromEntries(
    Object.entries(side).map(([name, call]) => [name, within(call)]),
  ) as unknown as Side
}
