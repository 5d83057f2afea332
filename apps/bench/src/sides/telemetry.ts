import { openTelemetry } from '@looseleaf/opentelemetry'
import { context } from '@opentelemetry/api'
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

/** Exporter that discards everything. The cost of exporting is not the store's. */
const discard = {
  export: (_: unknown, done: (result: { code: number }) => void): void => done({ code: 0 }),
  forceFlush: async (): Promise<void> => {},
  shutdown: async (): Promise<void> => {},
}

export interface Telemetry extends Required<Pick<DataStoreOptions, 'observer'>> {
  /** Makes calls within the span of a request, like a web server. */
  inRequest: NonNullable<Side['around']>
}

/** Sets up the SDK as its guide does: metrics, and spans in batches. `shareOfTraces` is the sampled share, from 0 to 1. */
export function telemetry(shareOfTraces: number): Telemetry {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  const tracerProvider = new TracerProvider({
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(shareOfTraces) }),
    spanProcessors: [new BatchSpanProcessor({ exporter: discard })],
  })
  const exporter = { ...discard, selectAggregationTemporality: () => AggregationTemporality.CUMULATIVE }
  const meterProvider = new MeterProvider({ readers: [new PeriodicExportingMetricReader({ exporter })] })
  const tracer = tracerProvider.getTracer('bench')
  return {
    observer: openTelemetry({ system: 'mariadb', tracerProvider, meterProvider }),
    inRequest: (calls) =>
      tracer.startActiveSpan('request', async (span) => {
        try {
          await calls()
        } finally {
          span.end()
        }
      }),
  }
}
